import type { Agent } from '../agent.ts'
import type { AgentInput } from '../machines/context.ts'
import { throwIfBroken } from './check/checkFailure.ts'
import { checkIsolation } from './check/isolation.ts'
import { judgePlay, termsOf } from './check/judgePlay.ts'
import { along, Frontier, type Path, pathOf, strictlyAlong } from './check/paths.ts'
import { type Chooser, Play, stageOf } from './check/play.ts'
import { type CheckReport, reportOf } from './check/report.ts'
import { cutsOf, resumeAfter } from './check/resumptions.ts'
import { StagedAgent, type StagingOptions } from './double/stagedAgent.ts'
import { endingOf } from './endingOf.ts'
import { requireCount } from './optionChecks.ts'

export interface CheckOptions extends StagingOptions {
  /** What the runs are asked, with a history before it or limits of its own where you like. Default: a question. */
  readonly input?: AgentInput
  /** Choices on a path that are varied; after them the model answers and everything succeeds. Default: 3. */
  readonly depth?: number
  /** Paths after which the check ends, the shortest having come first. Default: 1000. */
  readonly maxPaths?: number
  /** One path to walk, as a failure tells it, instead of all. */
  readonly path?: string
}

const DEFAULT_DEPTH = 3
const DEFAULT_MAX_PATHS = 1000

const DEFAULT_QUESTION = 'What is new?'

/**
 * Walks the paths that an agent's run can take, the shortest first, with a scripted model, tools that are stubbed and
 * time that is virtual, and checks Loopchart's promises on each. Memory, limits, instructions, output schema, tool
 * schemas and approval rules are the agent's own.
 *
 * @returns What was seen. Rejects with a `CheckFailure`, code `check_failed`, whose message tells the shortest path on
 * which a promise does not hold, and with a `MisuseError` for options that cannot work.
 */
export async function checkAgent<Output>(
  agent: Agent<Output>,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const startedAt = performance.now()
  const { depth = DEFAULT_DEPTH, maxPaths = DEFAULT_MAX_PATHS, path, input = DEFAULT_QUESTION } = options
  requireCount('depth', depth)
  requireCount('maxPaths', maxPaths)
  const stage = stageOf(new StagedAgent(agent, options), input)
  const terms = termsOf(stage)
  const endings: Record<string, number> = {}
  let paths = 0
  let resumptions = 0
  let longest = 0

  const walk = async (choose: Chooser, choices: number): Promise<Play<Output>> => {
    const play: Play<Output> = new Play(stage, choose)
    await play.lead()
    if (play.misuse === undefined) judgePlay(play, terms)
    throwIfBroken(play)
    paths++
    longest = Math.max(longest, play.decisions.length)
    const ending = endingOf(play.outcome)
    endings[ending] = (endings[ending] ?? 0) + 1
    const entries = await play.entries()
    for (const cut of cutsOf(play, entries.length, choices, paths)) {
      throwIfBroken(await resumeAfter(stage, play, entries, cut), play.path)
      resumptions++
    }
    return play
  }

  let complete = true
  if (path !== undefined) {
    const { choose, assertWalked } = strictlyAlong(pathOf(path))
    await walk(choose, 0)
    assertWalked()
  } else {
    const frontier = new Frontier()
    const walked: Path[] = []
    for (let next = frontier.next(); next !== undefined; next = frontier.next()) {
      if (paths === maxPaths) {
        complete = false
        break
      }
      const play = await walk(along(next), next.length)
      frontier.branch(next, play.decisions, depth)
      walked.push(next)
    }
    await checkIsolation(stage, walked)
  }
  const durationMs = performance.now() - startedAt
  return reportOf({
    paths,
    resumptions,
    complete,
    depth,
    longest,
    endings,
    durationMs,
    ...terms.chart.coverage,
  })
}
