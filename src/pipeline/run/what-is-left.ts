import type { RunInstance, RunRemainder, RunState } from '../../events/run-document.ts'
import { nextCommand } from '../../files/next-command.ts'

/** How many instances a command names; with more it would be too long to paste. */
const maxNamed = 20

/** The words of a command for the same manifest, as `ManifestCall.next` makes them. */
type Next = (...words: string[]) => readonly string[]

type Group = RunRemainder['state']

interface Remedy {
  /** What it means, for several of them. */
  readonly message: string
  /** The words of the command behind `run`, for these instances. */
  readonly words?: (ids: readonly string[]) => readonly string[]
  /** What else can be done, as a clause with a command. */
  readonly or?: (ids: readonly string[]) => readonly [before: string, words: readonly string[], after: string]
}

const regenerate = (ids: readonly string[]) => ids.flatMap((id) => ['--regenerate', id])
const adopt = (ids: readonly string[]) => ['adopt', ...ids]
const force = (ids: readonly string[]) =>
  ['To put the file aside and go on: ', ['--force', ...ids], '.'] as const

/** What can be done about each, the worst first. */
const remedies: Readonly<Partial<Record<Group, Remedy>>> = {
  unknown: {
    message:
      'Sent, and nobody knows what became of it: it may have been billed. Look at the gateway before it is made again',
    words: regenerate,
  },
  failed: { message: 'Failed. When the cause is gone, run it again', words: (ids) => ids },
  lost: {
    message:
      'Locked, but neither the file nor its bytes in the store are here. Get the file back from version control or from the machine that made it; only if it is gone for good, make it again',
    words: regenerate,
  },
  changed: { message: 'Not as it was locked. To keep the file as it is now', words: adopt, or: force },
  in_the_way: {
    message: 'Not in the lock, but a file of its name is there. To keep that file',
    words: adopt,
    or: force,
  },
  rejected: {
    message: 'Made, but its asserts do not hold. The result is kept; loosen the asserts, or make it again',
    words: regenerate,
  },
  awaiting: {
    message: 'Made, and waits for a choice. Look at the candidates',
    words: () => ['report'],
    or: ([id = '']) => ['Then choose one, for example the second: ', ['pick', id, '2'], '.'],
  },
  stale: { message: 'Not as the manifest says now', words: (ids) => ids },
  new: { message: 'Not made yet', words: (ids) => ids },
  restorable: { message: 'Not in its place, and is restored without cost', words: (ids) => ids },
  pending: { message: 'Not made yet, nor what it needs', words: (ids) => ids },
  blocked: { message: 'Waiting for another one that stands still' },
}

/** The order in which they are told. */
const order = Object.keys(remedies) as readonly Group[]

/**
 * What a run leaves to the user, a group for each state, the worst first.
 * @param generating the words that make a run generate, where it would not by itself (`--generate`)
 */
export function whatIsLeft(
  instances: readonly RunInstance[],
  next: Next,
  generating: readonly string[] = [],
): RunRemainder[] {
  const groups = Map.groupBy(instances, groupOf)
  return order.flatMap((state) => {
    const members = groups.get(state)
    if (members === undefined) return []
    return [
      remainder(
        state,
        members.map(({ instance }) => instance),
        next,
        generating,
      ),
    ]
  })
}

function groupOf({ state, action }: RunInstance): Group | 'fresh' {
  return action === 'failed' ? 'failed' : state
}

/** What runs the engine, and so may have to be told to generate. */
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
  next: Next,
  generating: readonly string[],
): RunRemainder {
  const { message, words, or } = remedies[state]!
  const named = instances.slice(0, maxNamed)
  const commandOf = (own: readonly string[]) => next(...(runs.has(state) ? generating : []), ...own)
  const alternative = or?.(named)
  const told = [
    `${message}.`,
    ...(instances.length > named.length && words !== undefined
      ? [`The command names the first ${maxNamed} of ${instances.length}.`]
      : []),
    ...(alternative === undefined
      ? []
      : [`${alternative[0]}${nextCommand(next(...alternative[1])).toString()}${alternative[2]}`]),
  ]
  return {
    state,
    instances,
    message: told.join(' '),
    next: words === undefined ? null : commandOf(words(named)),
  }
}
