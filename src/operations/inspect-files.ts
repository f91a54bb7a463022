import { resolve } from 'node:path'
import { asModelgateError, ModelgateError } from '../errors.ts'
import type { Inspection, InspectionDocument } from '../events/inspection.ts'
import { outputVersion } from '../events/version.ts'
import type { FileFacts } from '../files/inspect-file.ts'
import { lineOf, type CallFacts, type CallWords } from '../files/calls/call-record.ts'
import { openCalls } from '../files/calls/read-calls.ts'
import { readSidecar, type StoredSidecar } from '../files/sidecar.ts'
import { commonExit, type Listener, type OperationContext } from './operation.ts'

export interface InspectRequest {
  readonly paths: readonly string[]
  /** Inspects one of them. */
  inspect(path: string): Promise<FileFacts>
  readonly stateFolder: string | undefined
}

/** Inspects files one after the other, then looks up at once what has made them. */
export async function inspectFiles(
  context: Pick<OperationContext, 'cwd' | 'clock' | 'signal'>,
  { event }: Pick<Listener, 'event'>,
  { paths, inspect, stateFolder }: InspectRequest,
): Promise<{ readonly document: InspectionDocument; readonly failure: ModelgateError | undefined }> {
  event({ type: 'start', version: outputVersion, command: 'inspect', model: null })
  const found: FileFacts[] = []
  const errors: ReadError[] = []
  for (const path of paths) {
    try {
      found.push(await inspect(path))
    } catch (thrown) {
      context.signal.throwIfAborted()
      errors.push({ path, error: asModelgateError(thrown, false) })
    }
  }
  const warnings: string[] = []
  const calls = await findCalls(stateFolder, new Set(found.map(({ sha256 }) => sha256)), warnings)
  const files: Inspection[] = []
  for (const facts of found) {
    const sidecar = await readSidecar(context, facts.path)
    const isOwn = sidecar?.sha256 === facts.sha256
    if (sidecar !== undefined && !isOwn) {
      warnings.push(`${facts.path} is not the file that ${sidecar.path} describes: its content is another.`)
    }
    const file = inspectionOf(facts, isOwn ? sidecar : undefined, calls.get(facts.sha256), context.cwd)
    files.push(file)
    event({ type: 'file-inspect', file })
  }
  const failures = errors.map(({ path, error: { code, message } }) => ({ path, code, message }))
  for (const failure of failures) event({ type: 'file-fail', failure })
  for (const message of warnings) event({ type: 'warning-add', message })
  return {
    document: { version: outputVersion, command: 'inspect', files, failures, warnings },
    failure: failureOf(errors, paths.length),
  }
}

type ReadError = { readonly path: string; readonly error: ModelgateError }
type ReadCall = CallFacts & CallWords

/** A log that cannot be read is a warning: the files were inspected. */
async function findCalls(stateFolder: string | undefined, digests: ReadonlySet<string>, warnings: string[]) {
  const found = new Map<string, ReadCall>()
  try {
    for (const call of digests.size === 0 ? [] : (await openCalls(stateFolder)).calls([...digests])) {
      // The newest call comes first.
      for (const { sha256 } of call.facts.files) {
        if (!digests.has(sha256) || found.has(sha256)) continue
        found.set(sha256, { ...call.facts, ...call.words() })
      }
      if (found.size === digests.size) break
    }
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    warnings.push(`The log was not searched: ${error.message}`)
  }
  return found
}

function failureOf(errors: readonly ReadError[], count: number): ModelgateError | undefined {
  const all = errors.map(({ error }) => error)
  const [first] = all
  if (first === undefined || count === 1) return first
  const message = all.map((error) => error.message).join('\n')
  return new ModelgateError(commonExit(all, count), 'some_failed', message, { phase: 'input', billed: 'no' })
}

function inspectionOf(
  facts: FileFacts,
  sidecar: StoredSidecar | undefined,
  call: ReadCall | undefined,
  cwd: string,
): Inspection {
  const { mediaType, hasAlpha, integrity, ...same } = facts
  const written = call?.files.find(({ sha256 }) => sha256 === facts.sha256)?.path
  // The log has the command line; the sidecar has what a log without prompts lacks.
  const origin = {
    sidecar: sidecar?.path ?? null,
    log_id: call?.id ?? null,
    path: written === undefined || written === resolve(cwd, facts.path) ? null : written,
    time: call?.time ?? sidecar?.time ?? null,
    command: call?.command ?? sidecar?.command ?? null,
    model: call?.model ?? sidecar?.model ?? null,
    prompt: call?.prompt ?? sidecar?.prompt ?? null,
    revised_prompt: sidecar?.revised_prompt ?? null,
    request_id: call?.request_id ?? sidecar?.request_id ?? null,
    again: (call && lineOf(call, call, cwd)) ?? null,
  }
  return {
    ...same,
    mime_type: mediaType ?? null,
    alpha: hasAlpha ?? null,
    integrity: integrity.state,
    damage: integrity.damage ?? null,
    made_with: sidecar === undefined && call === undefined ? null : origin,
  }
}
