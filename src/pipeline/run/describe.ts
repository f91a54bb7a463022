import { join, normalize, relative } from 'node:path'
import { sumOfMoney } from '../../cost/amount.ts'
import { billedOf, ModelgateError, type ExitName } from '../../errors.ts'
import { outputVersion } from '../../events/version.ts'
import {
  countStates,
  type RunDocument,
  type RunFile,
  type RunInstance,
  type RunMode,
  type RunRemainder,
  type RunState,
} from '../../events/run-document.ts'
import { describeCost } from '../../operations/document-cost.ts'
import { counted } from '../../quantities.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { requestsLeft } from '../plan/project-state.ts'
import type { Project } from '../project.ts'
import { exitOfRun } from '../run-exit.ts'
import type { ManifestCall, OpenProject } from './project.ts'
import type { InstanceEnd, RunFacts } from './run-state.ts'

export function runDocument(
  call: ManifestCall,
  { manifest, shownManifest }: OpenProject,
  ends: readonly InstanceEnd[],
  facts: RunFacts,
): RunDocument {
  const { project } = manifest
  const cost = sumOfMoney(ends.map((end) => end.cost))
  const instances = ends.map((end) => describeEnd(call, project, end, facts.shard !== null))
  const isWhole = ends.length === manifest.instances.size
  const again = facts.shard === null ? (isWhole ? [] : null) : ['--shard', facts.shard]
  return {
    version: outputVersion,
    command: 'run',
    manifest: shownManifest,
    folder: project.outputFolder,
    sandbox: project.isSandbox,
    instances,
    states: countStates(ends.map(({ assessment }) => assessment)),
    cost: cost && describeCost(cost),
    left: whatIsLeft(
      instances,
      { next: call.next, generating: call.generating, again },
      new Set(ends.flatMap(({ assessment }) => (assessment.isElsewhere ? [assessment.instance.id] : []))),
    ),
    ...facts,
  }
}

const putInPlace: ReadonlySet<InstanceEnd['action']> = new Set(['generated', 'restored', 'moved', 'accepted'])

export function describeEnd(
  { context }: ManifestCall,
  project: OpenProject['manifest']['project'],
  { assessment, action, outputs, error, created, took_s, cost }: InstanceEnd,
  isShard: boolean,
): RunInstance {
  const { instance, state, key, reasons } = assessment
  const { id, job, at, command, model, lane, output } = instance
  return {
    instance: id,
    job,
    at: `${at.file}:${at.line}:${at.column}`,
    command,
    model,
    lane,
    output,
    state,
    action,
    key,
    reasons: [...reasons],
    creates: action === null && created === 0 ? requestsLeft(assessment) * instance.count : created,
    files: outputs.map((facts: OutputFacts) => runFile(context.cwd, project, facts)),
    placed: putInPlace.has(action) && !isShard,
    took_s,
    cost: cost && describeCost(cost),
    error:
      error === null
        ? null
        : { code: error.code, exit_code: error.exitCode, billed: billedOf(error), message: error.message },
  }
}

/** Undefined when all is up to date. @param reason of a run that was stopped before it was done: a signal, a budget */
export function runFailure(
  mode: RunMode,
  ends: readonly InstanceEnd[],
  left: readonly RunRemainder[],
  reason?: ModelgateError,
): ModelgateError | undefined {
  if (mode === 'plan') return undefined
  const exits = ends.map((end) => exitOf(end, mode))
  const exit = exitOfRun(reason === undefined ? exits : [reason.exit, ...exits])
  if (exit === 'ok') return undefined
  const first = ends.find(({ error }) => error?.exit === exit)?.error ?? undefined
  const next = left.flatMap(({ commands }) => commands)[0]
  const isBilled = ends.some(({ error }) => error !== null && billedOf(error) !== 'no')
  if (reason !== undefined && reason.exit === exit) {
    return reason.amend({ next: reason.facts.next ?? next, ...(isBilled && { billed: 'maybe' }) })
  }
  const withWorkers = ends.filter(({ error }) => error?.code === leftToWorkers).length
  if (exit === 'running' && withWorkers > 0) return detachedFrom(withWorkers, next)
  const count = exits.filter((one) => one !== 'ok').length
  const message = `${count} of ${counted(ends.length, 'instance')} ${count === 1 ? 'is' : 'are'} not up to date.`
  const code = exit === 'running' || exit === 'outdated' ? 'not_up_to_date' : 'some_failed'
  return new ModelgateError(exit, code, message, {
    phase: 'result',
    billed: isBilled ? 'maybe' : 'no',
    next,
    // Its message has been reported with its instance.
    hint: first?.facts.hint,
    cause: first,
  })
}

export const leftToWorkers = 'left_to_workers'

function detachedFrom(count: number, next: readonly string[] | undefined): ModelgateError {
  const message = `${count === 1 ? 'One instance is' : `${count} instances are`} with the workers, which continue.`
  return new ModelgateError('running', leftToWorkers, message, {
    phase: 'wait',
    billed: 'maybe',
    next,
    hint: 'The same command, without --detach, collects what they have made.',
  })
}

function exitOf({ assessment: { state, reasons }, error }: InstanceEnd, mode: RunMode): ExitName {
  if (error !== null) return error.exit
  switch (state) {
    case 'fresh':
      return 'ok'
    case 'unknown':
      return mode === 'check' ? 'outdated' : 'unknown'
    case 'unfetched':
      return mode === 'run' ? 'running' : 'outdated'
    case 'rejected':
      return mode === 'check' ? 'outdated' : 'partial'
    // What it waits for has an end of its own, unless that is not among what was chosen.
    case 'pending':
    case 'blocked':
      return reasons.length === 0 ? 'ok' : 'outdated'
    default:
      return 'outdated'
  }
}

/** More would be too long to paste. */
const maxNamed = 20

type Group = Exclude<RunRemainder['state'], 'fresh'> | 'elsewhere'

interface Remedy {
  readonly message: string
  /** The words after `run`: commands one after the other, or one of them. */
  readonly commands: (ids: readonly string[]) => readonly (readonly string[])[]
}

const regenerate = (ids: readonly string[]) => [ids.flatMap((id) => ['--regenerate', id])]
const adoptOrForce = (ids: readonly string[]) => [
  ['adopt', ...ids],
  ['--force', ...ids],
]
const runThem = (ids: readonly string[]) => [ids]
const madeByRun = { message: 'Run it to bring it up to date.', commands: runThem }

const remedies: Readonly<Record<Group, Remedy>> = {
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
      'Made, but neither the file nor its bytes are here. Get the file from version control, from where run push has put it (run pull), or from the machine that made it. Only if it is gone for good, make it again: that is paid for.',
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
  adopted: {
    message:
      'The request has changed since the file was adopted. Adopt it again to keep it, or make it anew.',
    commands: (ids) => [['adopt', ...ids], ...regenerate(ids)],
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

/** The words after `run` that lead on from a state; undefined where a run alone leads nowhere. */
export function remedyFor(state: RunState, id: string): readonly string[] | undefined {
  return state === 'awaiting' || state === 'fresh' ? undefined : remedies[state].commands([id])[0]
}

/** What a run does about them although it generates nothing by itself. */
const free = new Set<Group>(['changed', 'in_the_way', 'unfetched', 'awaiting', 'restorable'])

interface Commands {
  readonly next: (...words: string[]) => readonly string[]
  readonly generating: readonly string[]
  /** What runs the same instances again; null where these have to be named. */
  readonly again: readonly string[] | null
}

/** A group for each state, the worst first. @param elsewhere ids of those that a queue has which is not the one asked */
export function whatIsLeft(
  instances: readonly RunInstance[],
  { next, generating, again }: Commands,
  elsewhere: ReadonlySet<string> = new Set(),
): RunRemainder[] {
  const groups = Map.groupBy(instances, ({ instance, state, action }) =>
    elsewhere.has(instance) ? 'elsewhere' : action === 'failed' ? 'failed' : state,
  )
  const order = Object.keys(remedies) as readonly Group[]
  return order.flatMap((group) => {
    const ids = (groups.get(group) ?? []).map(({ instance }) => instance)
    if (ids.length === 0) return []
    const { message, commands } = remedies[group]
    const isRunAgain = commands === runThem && again !== null
    const named = ids.slice(0, maxNamed)
    const own = isRunAgain ? [again] : commands(named)
    const isCut = !isRunAgain && ids.length > maxNamed && own.some((words) => words.includes(named.at(-1)!))
    const cut = isCut ? ` The command names the first ${maxNamed} of ${ids.length}.` : ''
    const generates = (words: readonly string[]) => !free.has(group) && words[0] !== 'adopt'
    return {
      state: group === 'elsewhere' ? 'unknown' : group,
      instances: ids,
      message: `${message}${cut}`,
      commands: own.map((words) => next(...(generates(words) ? generating : []), ...words)),
    }
  })
}

export function runFile(
  cwd: string,
  { outputFolder }: Project,
  { path, bytes, sha256, media_type, width, height, seconds }: OutputFacts,
): RunFile {
  return {
    path: pathFrom(cwd, outputFolder, path),
    bytes,
    sha256,
    mime_type: media_type,
    width,
    height,
    seconds,
  }
}

export function pathFrom(cwd: string, outputFolder: string, path: string): string {
  return cwd === outputFolder ? normalize(path) : relative(cwd, join(outputFolder, path))
}
