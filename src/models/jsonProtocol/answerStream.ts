/**
 * The text of `final_answer` while the JSON object around it is still being written. It shows nothing of which it is
 * not sure: from anything on that is not strict JSON it is silent, and the caller shows the rest in the end.
 */
export class AnswerStream {
  readonly #isRuledOutBy: (action: string) => boolean
  #reader: Reader<void>
  #shown = ''

  /** @param isRuledOutBy Whether an answer after this action is none. */
  constructor(isRuledOutBy: (action: string) => boolean) {
    this.#isRuledOutBy = isRuledOutBy
    this.#reader = begun(isRuledOutBy)
  }

  /** Takes the next piece of JSON text and returns what it adds to the answer. */
  add(piece: string): string {
    let added = ''
    for (const char of piece) added += this.#reader.next(char).value ?? ''
    this.#shown += added
    return added
  }

  /** What of the answer has not been shown yet. */
  restOf(answer: string): string {
    return answer.startsWith(this.#shown) ? answer.slice(this.#shown.length) : ''
  }

  restart(): void {
    this.#reader = begun(this.#isRuledOutBy)
    this.#shown = ''
  }
}

/** Takes one character after the other, and gives what became known of the answer with each. */
type Reader<Result> = Generator<string, Result, string>

function begun(isRuledOutBy: (action: string) => boolean): Reader<void> {
  const reader = answerIn(isRuledOutBy)
  reader.next()
  return reader
}

function* answerIn(isRuledOutBy: (action: string) => boolean): Reader<void> {
  let char: string
  do char = yield ''
  while (char !== '{')
  char = yield* visible()
  while (char === '"') {
    const key = yield* quoted(false)
    if (key === undefined || (yield* visible()) !== ':') return
    char = yield* visible()
    if (char === '"') {
      const value = yield* quoted(key === 'final_answer')
      if (value === undefined || key === 'final_answer') return
      if (key === 'action' && isRuledOutBy(value)) return
      char = yield* visible()
    } else {
      char = yield* pastValue(char)
    }
    if (char !== ',') return
    char = yield* visible()
  }
}

function* visible(): Reader<string> {
  for (;;) {
    const char = yield ''
    if (!/[ \t\r\n]/.test(char)) return char
  }
}

/** The rest of a string, `undefined` where it is not JSON. With `shown`, gives it character by character. */
function* quoted(shown: boolean): Reader<string | undefined> {
  let text = ''
  let held = ''
  for (;;) {
    // The first half of a surrogate pair waits for the second one.
    const known = /[\ud800-\udbff]$/.test(held) ? '' : held
    if (known !== '') held = ''
    let char = yield known
    if (char === '"') return text
    if (char < ' ') return undefined
    if (char === '\\') {
      const unescaped = yield* escaped()
      if (unescaped === undefined) return undefined
      char = unescaped
    }
    text += char
    if (shown) held += char
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

function* escaped(): Reader<string | undefined> {
  const char = yield ''
  if (char !== 'u') return ESCAPES.get(char)
  let digits = ''
  while (digits.length < 4) digits += yield ''
  return /^[\da-f]{4}$/i.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : undefined
}

/** Passes over a value that is no string, and returns the character after it; `''` where it is not JSON. */
function* pastValue(first: string): Reader<string> {
  let depth = 0
  let char = first
  for (;;) {
    if (char === '"') {
      if ((yield* quoted(false)) === undefined) return ''
    } else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return char
      depth--
    } else if (char === ',' && depth === 0) return char
    char = yield ''
  }
}
