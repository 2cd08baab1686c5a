import type { About, ChartDrawing, InspectedEvent, RunRow, StreamMessage } from '../../protocol.ts'
import { RunHistory } from '../run/runHistory.ts'
import { messageOf } from '../words/messageOf.ts'
import { ApiError, readAbout, readChart, readEvents, readRun, readRuns } from './api.ts'
import { type RunFilter, RunList } from './runList.ts'
import { type Connection, Stream } from './stream.ts'

/** Rows that fill the list: as long as there are fewer, it is read on. */
const ENOUGH_ROWS = 30

/** The run that is looked at. */
export interface OpenRun {
  readonly runId: string
  row: RunRow | undefined
  history: RunHistory
  isLoading: boolean
  /** What the numbers of its events belong to. */
  numbering: string | undefined
  /** Events that the server did not keep. */
  dropped: number
  /** Whether the page could not keep up and has read anew. */
  wasBehind: boolean
  error: ApiError | undefined
}

/** What the page knows, kept up to date by the server. Listeners are told once for each picture that the browser draws. */
export class Inspector {
  about: About | undefined
  chart: ChartDrawing | undefined
  connection: Connection = 'connecting'
  list: RunList = new RunList({ search: '' })
  isListLoading = true
  /** Why the runs could not be read the last time. */
  listProblem: string | undefined
  /** Where the list goes on; undefined where all of it is known. */
  nextRuns: string | undefined
  open: OpenRun | undefined
  readonly #listeners = new Set<() => void>()
  #stream: Stream | undefined
  #isDrawing = false
  /** Events that came while older ones were being read. */
  #early: InspectedEvent[] = []
  #reading: { readonly run: OpenRun; again: boolean } | undefined

  start(runId: string | undefined): void {
    this.#openRun(runId)
    addEventListener('online', () => this.#stream?.hurry())
    addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#stream?.hurry()
    })
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Looks at another run, or at none. */
  show(runId: string | undefined): void {
    if (runId !== this.open?.runId) this.#openRun(runId)
  }

  filterRuns(filter: RunFilter): void {
    this.list = new RunList(filter)
    this.nextRuns = undefined
    void this.#readRuns()
    this.#changed()
  }

  async readMoreRuns(): Promise<void> {
    if (this.nextRuns !== undefined && !this.isListLoading) await this.#readRuns(this.nextRuns)
  }

  #openRun(runId: string | undefined): void {
    this.open = runId === undefined ? undefined : unread(runId, this.list.get(runId))
    this.#early = []
    this.#stream?.close()
    this.#stream = new Stream({
      runId,
      onMessage: (message) => this.#take(message),
      onConnection: (connection) => {
        this.connection = connection
        this.#changed()
      },
    })
    this.#changed()
  }

  #take(message: StreamMessage): void {
    switch (message.type) {
      case 'hello':
        void this.#greet(message.instance)
        break
      case 'run':
        this.list.update(message.run)
        if (this.open?.runId === message.run.runId) this.open.row = message.run
        break
      case 'event':
        this.#takeEvent(message.runId, message.event)
        break
      case 'behind':
        if (this.open !== undefined) this.open.wasBehind = true
        this.#readAnew()
        break
    }
    this.#changed()
  }

  /** After every beginning of the stream: what happened before it is read, and all of it where the server is another one. */
  async #greet(instance: string): Promise<void> {
    if (this.about?.instance !== instance) {
      if (this.about !== undefined && this.open !== undefined) {
        this.open = { ...unread(this.open.runId, this.open.row), history: this.open.history, isLoading: true }
      }
      await Promise.allSettled([
        readAbout().then((about) => {
          this.about = about
        }),
        readChart().then((chart) => {
          this.chart = chart
        }),
      ])
      this.#changed()
    }
    this.#readAnew()
  }

  #readAnew(): void {
    void this.#readRuns()
    if (this.open !== undefined) void this.#catchUp(this.open)
  }

  async #readRuns(before?: string): Promise<void> {
    const { list } = this
    this.isListLoading = true
    try {
      for (let from = before; ; from = this.nextRuns) {
        const { runs, next } = await readRuns(list.filter, from)
        if (list !== this.list) return
        list.add(runs)
        this.listProblem = undefined
        // A list of which more is known than its first page goes on where it went on before.
        if (from !== undefined || list.rows.length <= runs.length) this.nextRuns = next
        // A page of a search may be empty though what is searched for comes later.
        if (this.nextRuns === undefined || list.rows.length >= ENOUGH_ROWS) return
        this.#changed()
      }
    } catch (thrown) {
      // The stream will say hello again, and the list is read then.
      if (list === this.list) this.listProblem = messageOf(thrown)
    } finally {
      if (list === this.list) this.isListLoading = false
      this.#changed()
    }
  }

  #takeEvent(runId: string, event: InspectedEvent): void {
    const { open } = this
    if (open === undefined || open.runId !== runId) return
    if (open.isLoading) this.#early.push(event)
    else if (!open.history.append([event])) void this.#catchUp(open)
  }

  /** Reads what is missing of a run. One at a time: a second wish is met when the first is done. */
  async #catchUp(run: OpenRun): Promise<void> {
    if (this.#reading?.run === run) {
      this.#reading.again = true
      return
    }
    const reading = { run, again: false }
    this.#reading = reading
    try {
      do {
        reading.again = false
        await this.#readRun(run)
      } while (reading.again && run === this.open)
    } catch (thrown) {
      run.error =
        thrown instanceof ApiError ? thrown : new ApiError({ code: 'page', message: String(thrown) }, 0)
      run.isLoading = false
    } finally {
      if (this.#reading === reading) this.#reading = undefined
      this.#changed()
    }
  }

  async #readRun(run: OpenRun): Promise<void> {
    run.row = await readRun(run.runId)
    this.#changed()
    let history = run.isLoading ? new RunHistory() : run.history
    for (let hasMore = true; hasMore && run === this.open; ) {
      const page = await readEvents(run.runId, history.next)
      run.dropped = page.dropped
      if (page.numbering !== run.numbering && !history.isEmpty) {
        run.numbering = page.numbering
        history = new RunHistory()
        continue
      }
      run.numbering = page.numbering
      if (!history.append(page.events)) {
        // What was known ends before what the server still has.
        history = new RunHistory()
        history.append(page.events)
      }
      run.history = history
      hasMore = page.hasMore && page.events.length > 0
      this.#changed()
    }
    run.error = undefined
    run.isLoading = false
    const early = this.#early
    this.#early = []
    if (!history.append(early.filter(({ event }) => event.runId === run.runId))) await this.#readRun(run)
  }

  #changed(): void {
    if (this.#isDrawing) return
    this.#isDrawing = true
    const tell = (): void => {
      this.#isDrawing = false
      for (const listener of this.#listeners) listener()
    }
    // A page that nobody sees draws nothing, but may be listened to.
    if (document.visibilityState === 'hidden') setTimeout(tell, 250)
    else requestAnimationFrame(tell)
  }
}

function unread(runId: string, row: RunRow | undefined): OpenRun {
  return {
    runId,
    row,
    history: new RunHistory(),
    isLoading: true,
    numbering: undefined,
    dropped: 0,
    wasBehind: false,
    error: undefined,
  }
}
