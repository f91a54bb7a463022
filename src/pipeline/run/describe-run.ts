import { amountNumber, sumOfMoney, type Money } from '../../cost/amount.ts'
import { billedOf, ModelgateError, type ExitName } from '../../errors.ts'
import type { CostEstimate } from '../../events/cost.ts'
import { outputVersion } from '../../events/output-schema.ts'
import {
  countStates,
  type RunDocument,
  type RunInstance,
  type RunMode,
  type RunRemainder,
} from '../../events/run-document.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { requestsLeft } from '../plan/assessment.ts'
import type { ManifestCall } from './manifest-call.ts'
import type { OpenProject } from './open-project.ts'
import { exitOfRun } from '../run-exit.ts'
import { runFile } from './run-file.ts'
import type { InstanceEnd } from './run-call.ts'
import { whatIsLeft } from './what-is-left.ts'

export type RunFacts = Pick<
  RunDocument,
  'mode' | 'run' | 'shard' | 'part' | 'creates' | 'estimate' | 'orphans' | 'warnings'
>

/** The document of a run. */
export function runDocument(
  call: ManifestCall,
  { manifest, shownManifest }: OpenProject,
  ends: readonly InstanceEnd[],
  facts: RunFacts,
): RunDocument {
  const { project } = manifest
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
    cost: estimateOf(sumOfMoney(ends.map(({ cost }) => cost))),
    left: whatIsLeft(
      instances,
      { next: call.next, generating: call.generating, again },
      new Set(ends.flatMap(({ assessment }) => (assessment.isElsewhere ? [assessment.instance.id] : []))),
    ),
    ...facts,
  }
}

const putInPlace: ReadonlySet<InstanceEnd['action']> = new Set(['generated', 'restored', 'moved', 'accepted'])

/** An instance and what became of it, as documents and events show it. */
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
    cost: estimateOf(cost),
    error:
      error === null
        ? null
        : { code: error.code, exit_code: error.exitCode, billed: billedOf(error), message: error.message },
  }
}

function estimateOf(cost: Money | null): CostEstimate | null {
  if (cost === null) return null
  return { amount: amountNumber(cost.amount), currency: cost.currency, estimate: true, reason: null }
}

/**
 * The error that a run ends with; undefined when all is up to date, or with `--plan`.
 * @param reason of a run that was stopped before it was done: a signal, a budget
 */
export function runFailure(
  mode: RunMode,
  ends: readonly InstanceEnd[],
  left: readonly RunRemainder[],
  reason?: ModelgateError,
): ModelgateError | undefined {
  if (mode === 'plan') return undefined
  const exit = exitOfRun(exitsOf(ends, mode, reason))
  if (exit === 'ok') return undefined
  const first = ends.find(({ error }) => error?.exit === exit)?.error ?? undefined
  const next = left.flatMap(({ commands }) => commands)[0]
  const isBilled = ends.some(({ error }) => error !== null && billedOf(error) !== 'no')
  if (reason !== undefined && reason.exit === exit) {
    return reason.amend({ next: reason.facts.next ?? next, ...(isBilled && { billed: 'maybe' }) })
  }
  const withWorkers = ends.filter(({ error }) => error?.code === leftToWorkers).length
  if (exit === 'running' && withWorkers > 0) return detachedFrom(withWorkers, next)
  const count = ends.filter((end) => exitOf(end, mode) !== 'ok').length
  const of = ends.length === 1 ? '1 instance' : `${ends.length} instances`
  const message = `${count} of ${of} ${count === 1 ? 'is' : 'are'} not up to date.`
  return new ModelgateError(exit, codes[exit] ?? 'run_failed', message, {
    phase: 'result',
    billed: isBilled ? 'maybe' : 'no',
    next,
    // Its message has been told with its instance.
    hint: first?.facts.hint,
    cause: first,
  })
}

/** The code of the error of an instance that a run has left to workers, with `--detach`. */
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

const codes: Readonly<Partial<Record<ExitName, string>>> = {
  unknown: 'outcome_unknown',
  partial: 'some_failed',
  running: 'not_up_to_date',
  outdated: 'not_up_to_date',
}

/** How each instance would end the run alone, and the run itself, for `exitOfRun`. */
export function exitsOf(ends: readonly InstanceEnd[], mode: RunMode, reason?: ModelgateError): ExitName[] {
  return [...(reason === undefined ? [] : [reason.exit]), ...ends.map((end) => exitOf(end, mode))]
}

/** How an instance would end the run alone. */
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
