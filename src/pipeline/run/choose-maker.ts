import { amountText } from '../../cost/amount.ts'
import type { RunBudget } from '../schedule/run-budget.ts'
import { createLanes, type Lanes } from '../schedule/lanes.ts'
import { localMaker } from './local-maker.ts'
import type { OpenProject } from './open-project.ts'
import type { OpenQueue, Maker, RunCall, RunOptions } from './run-call.ts'
import { costLimitOf, limitOf, nothing } from './run-limits.ts'

/** The lanes of a run that makes its requests itself. @param jobs how many */
function lanesOf(
  { context: { clock }, listener, redactor }: RunCall,
  { timeoutS }: RunOptions,
  { manifest }: OpenProject,
  jobs: number,
): Lanes {
  return createLanes({
    clock,
    concurrency: manifest.lanes,
    jobs,
    deadline: timeoutS === undefined ? undefined : clock.monotonic() + timeoutS * 1000,
    // A gateway may quote the key.
    onChange: (event) => listener.event({ ...event, reason: redactor.text(event.reason) }),
  })
}

interface Parts {
  /** What has the requests made; without it this process makes them. */
  readonly queue: OpenQueue | undefined
  readonly call: RunCall
  readonly options: RunOptions
  readonly project: OpenProject
  readonly unfinished: OpenProject['history']['unfinished']
  /** Keys of requests that the queue tells more of. */
  readonly inQueue: Set<string>
  readonly budget: RunBudget
  /** How many requests the run has. */
  readonly jobs: number
}

/** Who makes the requests of a run: this process, or the workers of a queue. */
export async function chooseMaker({
  queue,
  call,
  options,
  project,
  unfinished,
  inQueue,
  budget,
  jobs,
}: Parts): Promise<Maker> {
  if (queue === undefined) return localMaker(lanesOf(call, options, project, jobs), budget)
  const { queueMaker } = await import('./queue-maker.ts')
  const cost = costLimitOf(call, options, project)
  const outside = project.history.usedOutside(queue.documents.identity)
  return queueMaker({
    queue,
    call: call.queue!,
    clock: call.context.clock,
    limits: {
      lanes: project.manifest.lanes,
      creates: limitOf(options, project),
      cost: cost === null ? null : { ...cost, value: amountText(cost.value) },
      jobs,
    },
    used: unfinished === null ? { all: nothing, outside: nothing } : { all: unfinished.used, outside },
    inQueue,
  })
}

/** Keys of requests that were given to the queue of this run. What only looks at how things stand does not ask it. */
export async function takenUp(
  { context, queue }: RunCall,
  { intents }: OpenProject['history'],
  opened: OpenQueue | undefined,
): Promise<Set<string>> {
  if (opened !== undefined) {
    const { keysInQueue } = await import('./queue-submission.ts')
    return await keysInQueue(opened.documents, { intents }, context.clock.now())
  }
  const given = [...intents.values()].filter((intent) => intent.queue !== null)
  return new Set(queue === undefined ? [] : given.map(({ key }) => key))
}
