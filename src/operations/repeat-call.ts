import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import type { FileContext } from '../context.ts'
import { FileError, ModelgateError, UsageError } from '../errors.ts'
import { numberedPath } from '../files/file-name.ts'
import { readError, shownPath } from '../files/file-error.ts'
import { describeInputFile } from '../files/input-file.ts'
import type { LogEntry, LoggedInput } from '../files/log/log-entry.ts'
import type { LoggedCall } from '../files/log/log-file.ts'
import { planOutputs } from '../files/output-plan.ts'
import type { JsonObject } from '../json.ts'
import { allInputs } from '../problems.ts'
import { withMedia } from './conversation/media.ts'
import { instancesOf, videoCount } from './video-request.ts'

/** A call whose request is on record. */
export interface RepeatableCall {
  readonly entry: LogEntry
  readonly request: JsonObject
  /** The words that call its command, and the flags that are in no body. */
  readonly repeat: readonly string[]
}

/** @throws UsageError for a call that sent no request of its own, or is recorded without it */
export function repeatable(call: LoggedCall): RepeatableCall {
  const entry = call.entry()
  const { request, repeat, jobs, arguments: words, command } = entry
  if (request !== undefined && repeat !== undefined) return { entry, request, repeat }
  const name = `The call ${call.number} (${command})`
  if (words === undefined && jobs === undefined) {
    throw new UsageError(`${name} was recorded without its request (history: metadata).`, {
      code: 'request_not_kept',
      hint: 'To keep the requests of later calls, set history: full, or MODELGATE_HISTORY=full.',
    })
  }
  throw new UsageError(`${name} sent no request that could be sent again.`, {
    code: 'nothing_to_repeat',
    ...(jobs?.[0] === undefined ? {} : { hint: `It was about the job ${jobs[0]}.` }),
  })
}

/** The fields of an instance that flags of `video generate` set, by the names of these. */
const instanceFields: Readonly<Record<string, string>> = {
  '--image': 'image',
  '--last-frame': 'lastFrame',
  '--reference': 'referenceImages',
  '--video': 'video',
}

/**
 * The body of a call with its media, which are read again.
 * @param flags that the new call has: what they replace need not be there any more
 * @throws FileError (exit 10) for a file that is gone or has changed
 */
export async function repeatedBody(
  context: FileContext,
  { request }: Pick<RepeatableCall, 'request'>,
  flags: readonly string[],
): Promise<JsonObject> {
  const replaced = flags.flatMap((flag) => instanceFields[flag.replace(/=.*/, '')] ?? [])
  const kept = replaced.length === 0 ? request : withoutInInstances(request, replaced)
  return await withMedia(context, kept, {
    what: 'The call',
    hint: 'Put it back, or replace it by a flag of this call: the log keeps no copies.',
  })
}

function withoutInInstances(request: JsonObject, names: readonly string[]): JsonObject {
  const instances = instancesOf({ ...request }).map((instance) =>
    Object.fromEntries(Object.entries(instance).filter(([name]) => !names.includes(name))),
  )
  return instances.length === 0 ? request : { ...request, instances }
}

/**
 * The flags for the pictures that an image edit sent beside its body.
 * @param flags that the new call has: they replace the pictures of the earlier one
 * @throws FileError (exit 10) for one that is gone, has changed, or was in no file
 */
export async function repeatedSources(
  context: FileContext,
  { entry }: Pick<RepeatableCall, 'entry'>,
  flags: readonly string[],
): Promise<string[]> {
  const isNew = (field: string) => flags.some((flag) => flag.replace(/=.*/, '') === `--${field}`)
  const sources = (entry.inputs ?? []).filter(({ field }) => field !== undefined && !isNew(field))
  const checked = sources.map(async (input) => {
    await checkSource(context, input)
    return [`--${input.field}`, input.path]
  })
  return (await allInputs(checked)).flat()
}

async function checkSource(context: FileContext, { path, bytes, sha256, field }: LoggedInput): Promise<void> {
  const hint = `Give it again: --${field} FILE. The log keeps no copies.`
  const facts = { phase: 'input', billed: 'no', hint } as const
  if (path === '' || path === '-' || /^(?:https?|data):/i.test(path)) {
    const source = path === '-' ? 'standard input' : path === '' ? 'no file' : path
    throw new FileError('media_not_kept', `The --${field} of the call came from ${source}.`, facts)
  }
  const unreadable = ({ code, message }: ModelgateError) =>
    new FileError(code, `The --${field} of the call: ${message}`, facts)
  // Something else may be in its place by now: a pipe that stays silent, or more than anybody waits for.
  const found = await describeInputFile(context, path, { maxBytes: Infinity, headBytes: 1, pipes: false })
  if (found instanceof ModelgateError && found.code !== 'empty_file') throw unreadable(found)
  if (!(found instanceof ModelgateError) && found.bytes === bytes) {
    const hash = createHash('sha256')
    try {
      for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    } catch (error) {
      throw unreadable(readError(error, path))
    }
    if (hash.digest('hex') === sha256) return
  }
  throw new FileError(
    'media_changed',
    `The --${field} of the call, ${shownPath(path)}, has changed since.`,
    facts,
  )
}

/**
 * The name for the results: that of the earlier call, with the first number that makes it free, since nothing is
 * overwritten. A folder gets names of its own anyway.
 * @param output what `-o` said
 */
export function freeOutput(
  context: FileContext,
  output: string,
  { entry, request }: Pick<RepeatableCall, 'entry' | 'request'>,
): string {
  const isMedia = /^(?:image|video) /.test(entry.command)
  if (output === '-') return output
  // The name of a repeated call has got its number from here.
  const first = entry.repeats === undefined ? output : output.replace(/-\d{1,4}(?=(?:\.[^./\\]*)?$)/, '')
  for (let number = 1; ; number++) {
    const name = number === 1 ? output : numberedPath(first, number)
    const paths = isMedia ? plannedPaths(context, name, entry, request) : [name]
    if (!paths.some((path) => isFile(resolve(context.cwd, path)))) return name
  }
}

/** Empty for a folder. */
function plannedPaths(
  context: FileContext,
  output: string,
  { command, model = '', prompt = '', files }: LogEntry,
  request: JsonObject,
): string[] {
  const kind = command.startsWith('video') ? 'video' : 'image'
  const { n } = request
  const count = kind === 'video' ? videoCount(request) : typeof n === 'number' && n >= 1 ? Math.floor(n) : 1
  const now = context.clock.now()
  const plan = planOutputs(context, { output, kind, count, force: false, model, prompt, now })
  if (plan.isAutomatic) return []
  const extension = extname(files[0]?.path ?? '').slice(1) || (kind === 'video' ? 'mp4' : 'png')
  return Array.from({ length: count }, (_, at) => plan.pathFor({ index: at + 1, extension }))
}

/** A device or a folder is not numbered. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
