import { asModelgateError, ModelgateError } from '../../errors.ts'
import type { RunAction, RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import { openJournal } from '../journal/journal.ts'
import type { Assessment } from '../plan/assessment.ts'
import { placeOutputs } from '../plan/output-places.ts'
import { planRun } from '../plan/plan-run.ts'
import { selectInstances } from '../plan/select-instances.ts'
import type { ManifestCall } from '../run/manifest-call.ts'
import { openProject, type OpenProject } from '../run/open-project.ts'
import { runDocument, runFailure } from '../run/describe-run.ts'
import type { InstanceEnd } from '../run/run-call.ts'
import type { PartInstance } from '../shards/part-report.ts'
import { takeParts, type TakenParts } from './take-parts.ts'

/**
 * Puts the parts of a run together that shards have left, and tells how the manifest stands then.
 * @param folders of parts, or with parts in them; relative to the working directory
 * @returns the outcome, whose error has the exit code that the whole run would have had; parts that do not fit are an error
 * before anything is written
 */
export async function mergeParts(
  call: ManifestCall,
  folders: readonly string[],
): Promise<Outcome<RunDocument>> {
  let project: OpenProject | undefined
  try {
    project = await openProject(call, true)
    const { run, taken } = await takeAll(call, project, folders)
    const world = project.world({ lock: taken.lock })
    const { signal } = call.context
    const selected = selectInstances(project.manifest, taken.jobs)
    const plan = await planRun(world, selected, { signal })
    const reports = new Map(taken.instances.map((instance) => [instance.id, instance]))
    const ends = [...plan.assessments.values()].map((assessment) =>
      endOf(assessment, reports.get(assessment.instance.id), taken),
    )
    const document = {
      ...runDocument(call, project, ends, {
        mode: 'run',
        run,
        shard: null,
        part: null,
        creates: { planned: 0, made: 0, limit: null },
        estimate: null,
        orphans: [...plan.orphans],
        warnings: [...project.manifest.warnings, ...project.history.problems],
      }),
      command: 'run merge',
    } as const
    return { kind: 'ended', document, failure: runFailure('run', ends, document.left, stopOf(taken)) }
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: undefined }
  } finally {
    await project?.close()
  }
}

/** Takes the parts in, with what became of their requests as a part of the journal of this machine. */
async function takeAll(
  { context }: ManifestCall,
  { manifest, lock, history, store, candidates }: OpenProject,
  folders: readonly string[],
): Promise<{ readonly run: string; readonly taken: TakenParts }> {
  const { unfinished } = history
  const journal = await openJournal(manifest.project, context.clock, unfinished)
  try {
    const taken = await takeParts(
      {
        context,
        project: manifest.project,
        manifest: manifest.sha256,
        lock,
        store,
        candidates,
        selected: (jobs) => selectInstances(manifest, jobs),
        placesOf: (id, result) =>
          placeOutputs(manifest.instances.get(id)!, result, context.clock.now()).map(({ path }) => path),
        async record(event) {
          await journal.append(event)
          history.note(event)
        },
      },
      folders,
    )
    if (taken.exit === 'ok' && unfinished === null) await journal.append({ type: 'end', run: journal.run })
    return { run: journal.run, taken }
  } finally {
    await journal.close()
  }
}

/** What became of an instance, as far as its part says. */
function endOf(assessment: Assessment, report: PartInstance | undefined, taken: TakenParts): InstanceEnd {
  const { instance, block, state } = assessment
  const found = report?.outcome === 'failed' ? report.error : undefined
  const error = found && new ModelgateError(found.exit, found.code, found.message, { billed: found.billed })
  return {
    assessment,
    action: error === undefined ? actionOf(instance.id, state, taken) : 'failed',
    outputs: block?.outputs ?? [],
    error: error ?? null,
    created: 0,
    took_s: null,
    cost: null,
  }
}

function actionOf(id: string, state: Assessment['state'], { changed, kept }: TakenParts): RunAction | null {
  if (kept.some(({ instance }) => instance === id)) return 'kept'
  if (state === 'unknown' || state === 'rejected' || state === 'awaiting') return state
  return changed.has(id) ? 'restored' : null
}

/** Why the run as a whole had stopped, where that does not show in the instances. */
function stopOf({ exit }: TakenParts): ModelgateError | undefined {
  if (exit !== 'limit') return undefined
  return new ModelgateError('limit', 'budget_reached', 'A part has reached the budget of the run.', {
    phase: 'result',
    billed: 'no',
  })
}
