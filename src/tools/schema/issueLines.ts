import type { StandardIssue } from './standardSchema.ts'

/** How much of a value that does not fit is shown, in characters. */
const SHOWN_VALUE = 80

/** How many of the forms that a value fits none of are shown. */
const SHOWN_FORMS = 4

type Path = readonly PropertyKey[]

/** An issue of a union, in zod, says of each of its forms what is wrong with it. */
interface Issue extends StandardIssue {
  readonly code?: unknown
  readonly errors?: readonly (readonly Issue[])[]
  readonly issues?: unknown
}

/** What does not fit, a line each: `items[0].price: expected number, received string (you sent "12")`. */
export function issueLines(issues: readonly StandardIssue[], args: unknown): readonly string[] {
  return issues.flatMap((issue) => linesOf(issue, [], args))
}

function linesOf(issue: Issue, above: Path, args: unknown): readonly string[] {
  const path = [...above, ...keysOf(issue)]
  if (issue.code !== 'invalid_union' || !Array.isArray(issue.errors) || issue.errors.length === 0) {
    return [lineOf(path, issue.message, args)]
  }
  const forms = likelyForms(issue.errors)
  const [only] = forms
  if (only !== undefined && forms.length === 1) return only.flatMap((inner) => linesOf(inner, path, args))
  const flaws = forms.slice(0, SHOWN_FORMS).map((form) => form.map(flawOf).join(', '))
  const more = forms.length - flaws.length
  return [
    lineOf(path, `it must be one of ${forms.length} forms: ${flaws.join('; or ')}`, args) +
      (more > 0 ? `; or ${more} more` : ''),
  ]
}

/** The forms of another kind (a string where an object was sent) are of no help, unless there are no others. */
function likelyForms(forms: readonly (readonly Issue[])[]): readonly (readonly Issue[])[] {
  const likely = forms.filter(
    (form) => !form.some((issue) => issue.code === 'invalid_type' && keysOf(issue).length === 0),
  )
  return likely.length === 0 ? forms : likely
}

function flawOf(issue: Issue): string {
  const path = pathText(keysOf(issue))
  return path === '' ? plain(issue.message) : `${path}: ${plain(issue.message)}`
}

function lineOf(path: Path, message: string, args: unknown): string {
  const where = pathText(path)
  if (where === '') return plain(message)
  const said = message.startsWith(where) ? message : `${where}: ${plain(message)}`
  const sent = shown(valueAt(path, args))
  return sent === undefined || said.includes(`received ${sent}`) ? said : `${said} (you sent ${sent})`
}

/** What zod says before it says what it expected. */
function plain(message: string): string {
  return String(message).replace(/^Invalid (?:input|option): (?=expected)/, '')
}

function keysOf({ path = [] }: StandardIssue): Path {
  return path.map((segment) => (typeof segment === 'object' ? segment.key : segment))
}

/** A path as it is written in JavaScript. */
function pathText(path: Path): string {
  return path
    .map((key, i) => {
      if (typeof key === 'number') return `[${key}]`
      const name = String(key)
      if (!/^[\w$-]+$/.test(name)) return `[${JSON.stringify(name)}]`
      return i === 0 ? name : `.${name}`
    })
    .join('')
}

function valueAt(path: Path, args: unknown): unknown {
  let value = args
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

function shown(value: unknown): string | undefined {
  const text = JSON.stringify(value)
  return text === undefined || text.length <= SHOWN_VALUE ? text : `${text.slice(0, SHOWN_VALUE)}…`
}
