import { resolve } from 'node:path'
import { asModelgateError, ModelgateError } from '../errors.ts'
import type { Inspection, InspectionDocument } from '../events/inspection.ts'
import { outputVersion } from '../events/version.ts'
import type { FileFacts } from '../files/inspect-file.ts'
import { lineOf, type CallFacts, type CallWords } from '../files/calls/call-record.ts'
import { openCalls } from '../files/calls/read-calls.ts'
import { readSidecar, type StoredSidecar } from '../files/sidecar.ts'
import { commonExit, type Listener, type OperationContext, type Outcome } from './operation.ts'

/** Inspects files one after the other, then looks up at once what has made them. @param inspect inspects one of them */
export async function inspectFiles(
  context: Pick<OperationContext, 'cwd' | 'clock' | 'signal'>,
  { event }: Pick<Listener, 'event'>,
  paths: readonly string[],
  inspect: (path: string) => Promise<FileFacts>,
  stateFolder: string | undefined,
): Promise<Outcome<InspectionDocument>> {
  event({ type: 'start', version: outputVersion, command: 'inspect', model: null })
  const found: FileFacts[] = []
  const errors: ModelgateError[] = []
  const failures: InspectionDocument['failures'][number][] = []
  for (const path of paths) {
    try {
      found.push(await inspect(path))
    } catch (thrown) {
      context.signal.throwIfAborted()
      const error = asModelgateError(thrown, false)
      errors.push(error)
      failures.push({ path, code: error.code, message: error.message })
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
  for (const failure of failures) event({ type: 'file-fail', failure })
  for (const message of warnings) event({ type: 'warning-add', message })
  const document = { version: outputVersion, command: 'inspect', files, failures, warnings } as const
  return { kind: 'ended', document, failure: failureOf(errors, paths.length) }
}

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

function failureOf(errors: readonly ModelgateError[], count: number): ModelgateError | undefined {
  const [first] = errors
  if (first === undefined || count === 1) return first
  const message = errors.map((error) => error.message).join('\n')
  const facts = { phase: 'input', billed: 'no' } as const
  return new ModelgateError(commonExit(errors, count), 'some_failed', message, facts)
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
