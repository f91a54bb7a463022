import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import type { CallFile, CallSummary, WholeCall } from '../events/call.ts'
import { systemCode } from '../files/file-error.ts'
import { lineOf, type LogEntry, type LogFacts, type LoggedFile } from '../files/log/log-entry.ts'
import { endedAt, type LoggedCall, type LogReader } from '../files/log/log-file.ts'

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

/**
 * The calls that pass the filter, the newest first, at most `limit`.
 * @param here the working directory
 * @throws FileError
 */
export function listCalls(log: LogReader, filter: LogFilter, limit: number, here: string): CallSummary[] {
  const { since = -Infinity, grep, command, model } = filter
  const search = grep === undefined ? undefined : createSearch(grep)
  const calls: CallSummary[] = []
  for (const call of log.calls()) {
    if (calls.length >= limit) break
    const { facts } = call
    const began = Date.parse(facts.time)
    // The log is in the order in which calls ended, as long as nobody sets the clock.
    if (endedAt(facts) < since - clockSlackMs) break
    const isWanted =
      began >= since &&
      (command === undefined || facts.command === command || facts.command.startsWith(`${command} `)) &&
      (model === undefined || facts.model === model) &&
      (search === undefined || search(call))
    if (isWanted) calls.push(summaryOf(call, here))
  }
  return calls
}

/** Looks into the line first: only where that has the text, it is parsed. */
function createSearch(text: string): (call: LoggedCall) => boolean {
  const inJson = JSON.stringify(text).slice(1, -1)
  const pattern = new RegExp(inJson.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`), 'i')
  const wanted = text.toLowerCase()
  return (call) => {
    if (!pattern.test(call.text())) return false
    const { prompt, reply, arguments: words = [], command, model, error, files } = call.entry()
    const paths = files.map(({ path }) => path)
    const texts = [prompt, reply?.['text'], command, model, error?.message, words.join(' '), ...paths]
    return texts.some((found) => typeof found === 'string' && found.toLowerCase().includes(wanted))
  }
}

/** A beginning of an id that is no number. */
const idForm = /^log_[0-9a-f]{4,16}$/

/**
 * The call that a user means: its number, the newest being 1, or its id, or the beginning of that.
 * @throws UsageError when there is none, or when several ids begin so; FileError
 */
export function findCall(log: LogReader, name: string): LoggedCall {
  const number = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : undefined
  if (number === undefined && !idForm.test(name)) {
    throw new UsageError(`${JSON.stringify(name)} is neither the number of a call nor its id.`, {
      code: 'not_a_call',
      hint: 'See them with: modelgate log',
    })
  }
  const isMeant = (at: number, id: string) => (number === undefined ? id.startsWith(name) : at === number)
  const found = log.find(isMeant, number === undefined ? 2 : 1)
  const [call, other] = found.toSorted((one) => (one.facts.id === name ? -1 : 0))
  if (call !== undefined && (other === undefined || call.facts.id === name)) return call
  if (other !== undefined) {
    throw new UsageError(`Several calls have ids that begin with ${name}.`, {
      code: 'ambiguous_id',
      hint: 'Give more of the id.',
    })
  }
  let last = 0
  for (const { number: seen } of log.calls()) last = seen
  const counted = last === 0 ? 'The log is empty.' : `The log has ${last === 1 ? '1 call' : `${last} calls`}.`
  throw new UsageError(`There is no call ${name} in the log. ${counted}`, {
    code: 'no_such_call',
    ...(last === 0 ? {} : { hint: 'See them with: modelgate log' }),
  })
}

function summaryOf(call: LoggedCall, here: string): CallSummary {
  const entry = call.entry()
  return { ...callFields(call.number, entry, here), files: entry.files.map(fileFields) }
}

/**
 * All of a call, and what has become of its files.
 * @param here the working directory
 */
export async function describeCall(call: LoggedCall, here: string): Promise<WholeCall> {
  const entry = call.entry()
  const files = entry.files.map(async (file): Promise<CallFile> => {
    return { ...fileFields(file), state: await stateOf(file) }
  })
  return {
    ...callFields(call.number, entry, here),
    arguments: entry.arguments ?? null,
    files: await Promise.all(files),
    request: entry.request ?? null,
    reply: entry.reply ?? null,
  }
}

function callFields(number: number, entry: LogEntry, here: string) {
  const { id, time, duration_ms, command, cwd, exit_code, error } = entry
  return {
    number,
    id,
    time,
    duration_ms,
    command,
    cwd,
    terminal: entry.terminal ?? null,
    sandbox: entry.sandbox === true,
    origin: entry.origin ?? null,
    profile: entry.profile ?? null,
    model: entry.model ?? null,
    exit_code,
    error: error ?? null,
    request_id: entry.request_id ?? null,
    finish_reason: entry.finish_reason ?? null,
    usage: entry.usage ?? null,
    created: entry.created ?? null,
    jobs: entry.jobs ?? [],
    inputs: (entry.inputs ?? []).map((input) => ({ ...input, field: input.field ?? null })),
    prompt: entry.prompt ?? null,
    again: lineOf(entry, here) ?? null,
  }
}

function fileFields({ path, bytes, sha256, format, width, height, seconds }: LoggedFile) {
  return {
    path,
    bytes,
    sha256,
    format,
    width: width ?? null,
    height: height ?? null,
    seconds: seconds ?? null,
  }
}

async function stateOf({ path, bytes, sha256 }: LogFacts['files'][number]): Promise<CallFile['state']> {
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
