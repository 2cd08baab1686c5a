import { h, type JSX } from 'preact'
import type { Outcome } from '../../../machines/outcome.ts'
import { printable } from '../words/printable.ts'
import { useTexts } from './context.ts'
import { StatusBadge } from './statusBadge.ts'
import { TextBlock } from './textBlock.ts'

/** How a run ended: the answer, or why there is none. */
export function OutcomeBlock({ outcome }: { outcome: Outcome<unknown> }): JSX.Element {
  const texts = useTexts()
  const verdict = outcome.status === 'waiting' ? undefined : outcome.stoppedBy
  return h(
    'article',
    { class: 'outcome' },
    h(
      'h3',
      null,
      h(StatusBadge, {
        status: outcome.status,
        reason: outcome.status === 'aborted' ? outcome.reason : undefined,
      }),
    ),
    outcome.status === 'done' && [
      h('h4', { key: 'h' }, texts.run.answer),
      h(TextBlock, { key: 't', text: textOf(outcome.output) }),
    ],
    outcome.status === 'aborted' && [
      h('p', { key: 'm', class: 'problem' }, printable(outcome.message)),
      ...(outcome.partial === undefined
        ? []
        : [h('h4', { key: 'h' }, texts.run.partial), h(TextBlock, { key: 't', text: outcome.partial })]),
    ],
    outcome.status === 'waiting' && h('p', null, texts.run.waitsForPerson),
    verdict !== undefined &&
      h(
        'p',
        null,
        `${texts.limits.verdict}: `,
        h('code', null, printable(verdict.limit)),
        ` ${printable(verdict.evidence)}`,
      ),
  )
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2)
}
