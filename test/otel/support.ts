import { AsyncLocalStorage } from 'node:async_hooks'
import { type Attributes, type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { OtelOptions } from '../../src/otel/index.ts'

export interface Recorder {
  /** What `otel` is given. */
  readonly options: Pick<OtelOptions, 'tracer' | 'meter'>
  /** In the order in which they ended. */
  spans(): readonly ReadableSpan[]
  span(name: string): ReadableSpan
  spansNamed(name: string): readonly ReadableSpan[]
  /** The values of a histogram by what tells them apart. */
  histogram(name: string): Promise<readonly Measured[]>
}

export interface Measured {
  readonly attributes: Attributes
  readonly count: number
  readonly sum: number
  readonly boundaries: readonly number[]
}

/** The SDK of OpenTelemetry, with all that it is told kept in memory. */
export function recorder(): Recorder {
  const exporter = new InMemorySpanExporter()
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter })
  const meters = new MeterProvider({ readers: [reader] })
  const spansNamed = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)
  return {
    options: { tracer: tracers.getTracer('test'), meter: meters.getMeter('test') },
    spans: () => exporter.getFinishedSpans(),
    spansNamed,
    span(name) {
      const [span, ...more] = spansNamed(name)
      if (span !== undefined && more.length === 0) return span
      const names = exporter.getFinishedSpans().map((each) => each.name)
      throw new Error(`Expected one span "${name}" among ${names.join(', ')}.`)
    },
    async histogram(name) {
      await meters.forceFlush()
      const metrics = metricExporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics)
      const points = metrics?.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
      return points.map(({ attributes, value }) => {
        const { count, sum = 0, buckets } = value as Histogram
        return { attributes, count, sum, boundaries: buckets.boundaries }
      })
    },
  }
}

export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId
}

/** Lets a context be active over everything that is awaited in it, as the SDK for Node does. */
export class AsyncContexts implements ContextManager {
  readonly #contexts = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#contexts.getStore() ?? ROOT_CONTEXT
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#contexts.run(active, () => work.apply(thisArg as ThisParameterType<F>, args))
  }

  bind<T>(_context: Context, target: T): T {
    return target
  }

  enable(): this {
    return this
  }

  disable(): this {
    return this
  }
}
