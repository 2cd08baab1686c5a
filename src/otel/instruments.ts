import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import type { Usage } from '../messages/reply.ts'
import { ATTRIBUTES } from './attributes.ts'

/** The metrics of the conventions, with the bucket boundaries that they ask for. */
export class Instruments {
  readonly #duration: Histogram
  readonly #tokens: Histogram

  constructor(meter: Meter) {
    this.#duration = meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'How long operations of generative AI take.',
      unit: 's',
      advice: { explicitBucketBoundaries: powers(0.01, 2, 14) },
    })
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Tokens that model calls use.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: powers(1, 4, 14) },
    })
  }

  duration(ms: number, attributes: Attributes): void {
    this.#duration.record(ms / 1000, attributes)
  }

  /** What is only estimated is not reported, as the conventions demand. */
  tokens({ inputTokens, outputTokens, estimated }: Usage, attributes: Attributes): void {
    if (estimated === true) return
    this.#tokens.record(inputTokens, { ...attributes, [ATTRIBUTES.tokenType]: 'input' })
    this.#tokens.record(outputTokens, { ...attributes, [ATTRIBUTES.tokenType]: 'output' })
  }
}

function powers(first: number, base: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Number((first * base ** i).toPrecision(12)))
}
