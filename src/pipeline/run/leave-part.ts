import { join } from 'node:path'
import { billedOf } from '../../errors.ts'
import { runsFolder } from '../journal/history.ts'
import { findBytes } from '../plan/result-files.ts'
import { writePart } from '../shards/part-folder.ts'
import type { PartInstance } from '../shards/part-report.ts'
import { isTextType } from '../store/file-digest.ts'
import { exitsOf } from './describe-run.ts'
import { exitOfRun } from '../run-exit.ts'
import type { InstanceEnd, Run, RunOptions } from './run-call.ts'

/** Leaves what a shard has made, for `run merge`. @throws FileError */
export async function leavePart(
  run: Run,
  shard: NonNullable<RunOptions['shard']>,
  ends: readonly InstanceEnd[],
): Promise<void> {
  const { call, project, lock, world, options, journal } = run
  const { manifest, store, candidates } = project
  // A file that was only moved may be nowhere else yet.
  for (const [id, { outputs }] of lock.lock) {
    if (project.lock.get(id) === lock.lock.get(id)) continue
    for (const facts of outputs) {
      const path = await findBytes(facts, world)
      if (path !== undefined) await store.add(path, isTextType(facts.media_type))
    }
  }
  const journalPath = join(runsFolder(manifest.project), `${journal.run}.jsonl`)
  const keys = ends.flatMap(({ assessment }) => assessment.keys)
  const kept = await Promise.all(keys.map((key) => candidates.get(key)))
  await writePart(project.files, manifest.project, store, {
    manifest: manifest.sha256,
    shard,
    jobs: [...options.jobs],
    exit: exitOfRun(exitsOf(ends, options.mode, run.reason())),
    instances: ends.map((end) => reportOf(call, end)),
    locks: { before: project.lock, after: lock.lock },
    journal: run.hasBegun() ? journalPath : null,
    candidates: kept.filter((candidate) => candidate !== undefined),
  })
}

function reportOf({ redactor }: Run['call'], end: InstanceEnd): PartInstance {
  const { assessment, error } = end
  const { id } = assessment.instance
  const outcome = outcomeOf(end)
  if (error === null || outcome !== 'failed') return { id, outcome }
  const { code, message } = error
  const exit = exitOfRun([error.exit])
  // A code may be the gateway's own word.
  const told = { code: redactor.text(code), message: redactor.text(message) }
  return { id, outcome, error: { exit, ...told, billed: billedOf(error) } }
}

function outcomeOf({ assessment: { state }, action, error }: InstanceEnd): PartInstance['outcome'] {
  if (state === 'unknown') return 'unknown'
  if (action === 'skipped' && error !== null) return 'left'
  if (error !== null || state === 'rejected') return 'failed'
  return state === 'fresh' ? 'done' : 'outdated'
}
