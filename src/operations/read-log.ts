import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import type { CallFile, CallSummary, WholeCall } from '../events/call.ts'
import { systemCode } from '../files/file-error.ts'
import { lineOf, type CallFacts, type CallWords, type RecordedFile } from '../files/calls/call-record.ts'
import type { CallReader, FoundCall } from '../files/calls/read-calls.ts'

/** Which calls are wanted; all that is given has to hold. */
export interface LogFilter {
  /** Calls that began then or later: milliseconds since 1970. */
  readonly since?: number | undefined
  /** In prompt, answer, command line, model, error or file names, in any case. */
  readonly grep?: string | undefined
  /** A command, or a group of them: `image`. */
  readonly command?: string | undefined
  readonly model?: string | undefined
}

/** By how much the clock may have been set back for a while, and calls of that time still hide no earlier ones. */
const clockSlackMs = 2 * 24 * 60 * 60 * 1000

/** The calls that pass the filter, the newest first. @param here the working directory */
export function* listCalls(
  log: CallReader,
  { since = -Infinity, grep, command, model }: LogFilter,
  here: string,
): Generator<CallSummary, void, undefined> {
  const text = grep?.toLowerCase()
  for (const call of log.calls()) {
    const { facts } = call
    const began = Date.parse(facts.time)
    // The log is in the order in which calls ended, as long as nobody sets the clock.
    if (endedAt(facts) < since - clockSlackMs) return
    const isWanted =
      began >= since &&
      (command === undefined || facts.command === command || facts.command.startsWith(`${command} `)) &&
      (model === undefined || facts.model === model) &&
      (text === undefined || says(call, text))
    if (isWanted) yield { ...callFields(facts, call.words(), here), files: facts.files.map(fileFields) }
  }
}

/** When a call ended, in milliseconds since 1970. */
export function endedAt({ time, duration_ms: took }: CallFacts): number {
  return Date.parse(time) + took
}

/** @param text in lower case */
function says({ facts, words }: FoundCall, text: string): boolean {
  const isIn = (found: unknown) => typeof found === 'string' && found.toLowerCase().includes(text)
  const { command, model, error, files } = facts
  if ([command, model, error?.message, ...files.map(({ path }) => path)].some(isIn)) return true
  const { prompt, reply, arguments: line = [] } = words()
  return [prompt, reply?.['text'], line.join(' ')].some(isIn)
}

/** The newest call, or the one whose id begins so. @throws UsageError without one, and for an id of several; FileError */
export function findCall(log: CallReader, id: string | undefined): FoundCall {
  const refusal = (message: string, hint?: string) => new UsageError(message, { code: 'unknown_id', hint })
  if (id !== undefined && !/^[0-9a-f]{4,16}$/.test(id)) {
    const message = `${JSON.stringify(id)} is not the id of a call, or the beginning of one.`
    throw refusal(message, 'See the ids with: modelgate log')
  }
  const [call, other] = (id === undefined ? log.calls() : log.withId(id)).take(id === undefined ? 1 : 2)
  if (other !== undefined)
    throw refusal(`Several calls have ids that begin with ${id}.`, 'Give more of the id.')
  if (call !== undefined) return call
  if (id === undefined) throw refusal('The log is empty.')
  throw refusal(`There is no call ${id} in the log.`, 'See them with: modelgate log')
}

/** All of a call, and what has become of its files. @param here the working directory */
export async function describeCall({ facts, words }: FoundCall, here: string): Promise<WholeCall> {
  const said = words()
  const { arguments: line = null, request = null, reply = null } = said
  const files = facts.files.map(async (file) => ({ ...fileFields(file), state: await stateOf(file) }))
  return {
    ...callFields(facts, said, here),
    arguments: line,
    files: await Promise.all(files),
    request,
    reply,
  }
}

function callFields(facts: CallFacts, words: CallWords, here: string) {
  const { id, time, duration_ms, command, cwd, terminal = null, origin = null, profile = null } = facts
  const { model = null, exit_code, error = null, request_id = null, finish_reason = null } = facts
  const { sandbox = false, usage = null, created = null, jobs = [], rescued = [], inputs = [] } = facts
  const start = { id, time, duration_ms, command, cwd, terminal, sandbox, origin, profile, model }
  const end = { exit_code, error, request_id, finish_reason, usage, created, jobs, rescued }
  return {
    ...start,
    ...end,
    inputs: inputs.map((input) => ({ ...input, field: input.field ?? null })),
    prompt: words.prompt ?? null,
    again: lineOf(facts, words, here) ?? null,
  }
}

function fileFields(file: RecordedFile) {
  const { path, bytes, sha256, format, width = null, height = null, seconds = null } = file
  return { path, bytes, sha256, format, width, height, seconds }
}

async function stateOf({ path, bytes, sha256 }: RecordedFile): Promise<CallFile['state']> {
  try {
    const found = await stat(path)
    if (!found.isFile() || found.size !== bytes) return 'changed'
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return hash.digest('hex') === sha256 ? 'unchanged' : 'changed'
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? 'missing' : 'unknown'
  }
}
