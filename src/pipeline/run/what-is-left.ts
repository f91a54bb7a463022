import type { RunInstance, RunRemainder, RunState } from '../../events/run-document.ts'

/** How many instances a command names; with more it would be too long to paste. */
const maxNamed = 20

/** The words of a command for the same manifest, as `ManifestCall.next` makes them. */
type Next = (...words: string[]) => readonly string[]

type Group = RunRemainder['state'] | 'elsewhere'

interface Remedy {
  /** What it means, for several of them. */
  readonly message: string
  /** The words of each command behind `run`, for these instances: one after the other, or one of them. */
  readonly commands: (ids: readonly string[]) => readonly (readonly string[])[]
}

const regenerate = (ids: readonly string[]) => [ids.flatMap((id) => ['--regenerate', id])]
const adoptOrForce = (ids: readonly string[]) => [
  ['adopt', ...ids],
  ['--force', ...ids],
]
const runThem = (ids: readonly string[]) => [ids]
const madeByRun = { message: 'Run it to bring it up to date.', commands: runThem }

/** What can be done about each, the worst first. */
const remedies: Readonly<Partial<Record<Group, Remedy>>> = {
  // A command would have to name the queue and the store that its machines share.
  elsewhere: {
    message:
      'Sent to a queue, whose workers may be working on it or have finished: run it with that --queue. Only if that queue is gone for good, make it again with --regenerate.',
    commands: () => [],
  },
  unknown: {
    message:
      'Sent, but the outcome is not known: it may have been billed. Check the gateway first, then generate it again.',
    commands: regenerate,
  },
  failed: { message: 'Failed. Fix the cause, then run it again.', commands: runThem },
  lost: {
    message:
      'Made, but neither the file nor its bytes are here. Get the file from version control or from the machine that made it. Only if it is gone for good, make it again: that is paid for.',
    commands: regenerate,
  },
  changed: {
    message: 'It differs from the lock. Adopt the file to keep it, or move it aside and continue.',
    commands: adoptOrForce,
  },
  in_the_way: {
    message:
      'It is not in the lock, and another file is in its place. Adopt the file to keep it, or move it aside and continue.',
    commands: adoptOrForce,
  },
  rejected: {
    message:
      'The result is kept. To accept it, loosen its assert or set accept_mismatch: true in the manifest; or make it again.',
    commands: regenerate,
  },
  unfetched: {
    message: 'Made and billed, and not fetched yet. Fetch it, free, before its address expires.',
    commands: runThem,
  },
  awaiting: {
    message: 'Look at the candidates, then pick one, such as the second.',
    commands: ([id = '']) => [['report'], ['pick', id, '2']],
  },
  stale: madeByRun,
  new: madeByRun,
  pending: madeByRun,
  restorable: madeByRun,
  blocked: { message: 'It is not generated until what blocks it is resolved.', commands: () => [] },
}

/** The order in which they are told. */
const order = Object.keys(remedies) as readonly Group[]

interface Commands {
  readonly next: Next
  /** The words that make a run generate, where it would not by itself (`--generate`). */
  readonly generating: readonly string[]
  /** The words that run the same instances again; null where these have to be named. */
  readonly again: readonly string[] | null
}

/**
 * What a run leaves to the user, a group for each state, the worst first.
 * @param elsewhere ids of those that a queue has which is not the one asked
 */
export function whatIsLeft(
  instances: readonly RunInstance[],
  commands: Commands,
  elsewhere: ReadonlySet<string> = new Set(),
): RunRemainder[] {
  const groups = Map.groupBy(instances, (one) => (elsewhere.has(one.instance) ? 'elsewhere' : groupOf(one)))
  return order.flatMap((state) => {
    const members = groups.get(state)
    if (members === undefined) return []
    const ids = members.map(({ instance }) => instance)
    return [remainder(state, ids, commands)]
  })
}

function groupOf({ state, action }: RunInstance): Group | 'fresh' {
  return action === 'failed' ? 'failed' : state
}

const runs: ReadonlySet<Group> = new Set<RunState | 'failed'>([
  'unknown',
  'failed',
  'lost',
  'rejected',
  'stale',
  'new',
  'pending',
])

function remainder(
  state: Group,
  instances: readonly string[],
  { next, generating, again }: Commands,
): RunRemainder {
  const { message, commands } = remedies[state]!
  const isRunAgain = commands === runThem && again !== null
  const named = instances.slice(0, maxNamed)
  const own = isRunAgain ? [again] : commands(named)
  const isCut =
    !isRunAgain && instances.length > named.length && own.some((words) => words.includes(named.at(-1)!))
  const cut = isCut ? ` The command names the first ${maxNamed} of ${instances.length}.` : ''
  return {
    state: state === 'elsewhere' ? 'unknown' : state,
    instances,
    message: `${message}${cut}`,
    commands: own.map((words) => next(...(runs.has(state) ? generating : []), ...words)),
  }
}
