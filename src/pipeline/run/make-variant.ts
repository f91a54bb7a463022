import { asModelgateError } from '../../errors.ts'
import type { Assessment, Variant } from '../plan/assessment.ts'
import { possiblePaths } from '../plan/output-places.ts'
import { checkPlace } from '../store/place-output.ts'
import { makeRequest } from './make-request.ts'
import { keepResult, nameWarnings } from './keep-result.ts'
import type { MadeVariant, Run } from './run-call.ts'

/** Makes a candidate, or goes on with it. Never throws: each instance tells its own failure. */
export function makeVariant(run: Run, assessment: Assessment, variant: Variant): Promise<MadeVariant> {
  const { variants } = run
  const known = variants.get(variant.key)
  // Whoever else wants the same gets it without a request of its own.
  if (known !== undefined) return known.then((other) => ({ ...other, created: 0, cost: null }))
  const made = make(run, assessment, variant).catch((error: unknown) => ({
    ...nothing,
    error: asModelgateError(error, false),
  }))
  variants.set(variant.key, made)
  return made
}

const nothing: MadeVariant = { made: null, error: null, created: 0, cost: null, took_s: null }

/** Has it made, and stores the result and its record. */
async function make(run: Run, { instance }: Assessment, { key, number }: Variant): Promise<MadeVariant> {
  const request = { instance, key, variant: number }
  const { manifest } = run.project
  for (const path of possiblePaths(instance, run.world.now).flat()) checkPlace(manifest.project, path)
  const { task, error, created } = await makeRequest(run, request)
  if (task === null) return { ...nothing, error, created }
  const idempotencyKey = run.project.history.intents.get(key)?.idempotencyKey
  try {
    const made = await keepResult(run, request, task)
    if (idempotencyKey !== undefined) run.executor.forget(idempotencyKey)
    const names = nameWarnings(instance, task.result.outputs)
    for (const warning of [...task.warnings, ...names]) run.warn(`${instance.id}: ${warning}`)
    return { ...nothing, made, created, cost: task.cost, took_s: task.result.took_s }
  } catch (thrown) {
    return { ...nothing, error: asModelgateError(thrown, false), created }
  }
}
