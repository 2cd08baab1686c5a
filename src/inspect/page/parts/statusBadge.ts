import { h, type JSX } from 'preact'
import type { RunStatus } from '../../../journal/entry.ts'
import { useTexts } from './context.ts'

export function StatusBadge({
  status,
  reason,
}: {
  status: RunStatus
  reason?: string | undefined
}): JSX.Element {
  const texts = useTexts()
  return h(
    'span',
    { class: `status status-${status}` },
    h('i', { class: 'dot', 'aria-hidden': true }),
    texts.status[status],
    reason !== undefined && h('code', null, reason),
  )
}
