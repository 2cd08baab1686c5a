import { h, type JSX } from 'preact'
import type { LimitGauge } from '../../../machines/limits/gauges.ts'
import type { RunView } from '../run/runView.ts'
import { count, duration, money } from '../words/format.ts'
import { printable } from '../words/printable.ts'
import { usageText } from '../words/usageText.ts'
import { useTexts } from './context.ts'

const reactions = ['warn', 'conclude', 'abort'] as const

/** How far each limit has counted, what they said, and what was spent. */
export function LimitsPane({ view }: { view: RunView }): JSX.Element {
  const texts = useTexts()
  const { limits } = texts
  const { gauges, warnings, verdict, usage, cost } = view
  return h(
    'div',
    { class: 'limits', tabIndex: 0, role: 'group', 'aria-label': texts.tabs.limits },
    gauges.length === 0 && h('p', { class: 'empty' }, limits.none),
    h(
      'ul',
      { class: 'gauges' },
      gauges.map((gauge) => h(Gauge, { key: gauge.limit, gauge, isReached: verdict?.limit === gauge.limit })),
    ),
    verdict !== undefined && [
      h('h3', { key: 'h' }, limits.verdict),
      h(
        'p',
        { key: 'p', class: 'problem' },
        h('code', null, printable(verdict.limit)),
        ` ${limits[verdict.reaction]}: ${printable(verdict.evidence)}`,
      ),
    ],
    warnings.length > 0 && [
      h('h3', { key: 'h' }, limits.warnings),
      h(
        'ul',
        { key: 'l', class: 'warnings' },
        warnings.map((warning, i) =>
          h(
            'li',
            { key: i },
            h('code', null, printable(warning.limit)),
            ` ${printable(warning.evidence)}`,
            h('p', { class: 'muted' }, `${texts.details.told}: ${printable(warning.text)}`),
          ),
        ),
      ),
    ],
    usage !== undefined && [
      h('h3', { key: 'h' }, limits.usage),
      h(
        'dl',
        { key: 'l', class: 'facts-list' },
        Object.entries(usage.byModel).map(([model, spent]) =>
          h('div', { key: model }, h('dt', null, printable(model)), h('dd', null, usageText(spent, texts))),
        ),
        cost !== undefined &&
          h('div', { key: 'cost' }, h('dt', null, limits.cost), h('dd', null, money(cost))),
      ),
    ],
  )
}

function Gauge({ gauge, isReached }: { gauge: LimitGauge; isReached: boolean }): JSX.Element {
  const { limits } = useTexts()
  const { limit, used, max } = gauge
  const rungs = reactions.flatMap((reaction) => {
    const threshold = gauge[reaction]
    return typeof threshold === 'number' && Number.isFinite(threshold) ? [{ reaction, threshold }] : []
  })
  const scale = Math.max(used, 1e-9, ...rungs.map(({ threshold }) => threshold))
  const format = limit === 'time' ? duration : limit === 'cost' ? money : count
  const value = max === undefined ? `${format(used)} (${limits.noMax})` : limits.of(format(used), format(max))
  const stage = rungs.findLast(({ threshold }) => used >= threshold)?.reaction ?? 'fine'
  return h(
    'li',
    { class: `gauge gauge-${isReached ? 'reached' : stage}` },
    h('code', null, limit),
    h('span', { class: 'gauge-value' }, value),
    h(
      'span',
      {
        class: 'gauge-track',
        role: 'meter',
        'aria-label': limit,
        'aria-valuemin': 0,
        'aria-valuemax': scale,
        'aria-valuenow': used,
        'aria-valuetext': value,
      },
      h('span', { class: 'gauge-fill', style: { width: `${(100 * used) / scale}%` } }),
      rungs.map(({ reaction, threshold }) =>
        h('span', {
          key: reaction,
          class: `rung rung-${reaction}`,
          style: { left: `${(100 * threshold) / scale}%` },
        }),
      ),
    ),
    h(
      'span',
      { class: 'rungs muted' },
      rungs.map(({ reaction, threshold }) => `${limits[reaction]} ${format(threshold)}`).join(' · '),
    ),
  )
}
