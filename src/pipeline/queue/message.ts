import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Job } from 'bullmq'
import * as v from 'valibot'
import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { checkBody } from '../../contract/field.ts'
import type { Creation } from '../../cost/creation.ts'
import {
  asErrorCode,
  billedOf,
  isExitName,
  ModelgateError,
  UsageError,
  type ErrorFacts,
  type ExitName,
} from '../../errors.ts'
import { cannotWrite, readError, shownPath } from '../../files/file-error.ts'
import { isDeviceName } from '../../files/file-name.ts'
import { referencesIn, referToMedia, restoreMedia } from '../../files/media-references.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isObject, objectOf } from '../../json.ts'
import type { Body } from '../../operations/operation.ts'
import type { Task } from '../execute/task.ts'
import { madeImages } from '../journal/journal.ts'
import { digestPattern } from '../lock/lock-block.ts'
import type { TaskRequest } from '../manifest/request-body.ts'
import { isAnswered } from '../schedule/circuit.ts'
import type { BlobSource, SharedStore } from '../store/blob-store.ts'
import { digestOfFile } from '../store/file-digest.ts'
import { partsOf, readParts, type TaskResult } from '../store/results.ts'

/** A program reads its own version only. */
const messageVersion = 3

const maxNameBytes = 255

const digest = v.pipe(v.string(), v.regex(digestPattern))
const file = v.strictObject({ sha256: digest, name: v.pipe(v.string(), v.check(isFileName)) })

const messageSchema = v.strictObject({
  version: v.literal(messageVersion),
  run: v.string(),
  instance: v.string(),
  key: digest,
  idempotency_key: v.string(),
  command: v.picklist(Object.keys(creatingCommands) as CreatingCommand[]),
  model: v.nullable(v.string()),
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
  is_json: v.boolean(),
  creation: v.record(v.string(), v.unknown()),
  /** With references in place of media, which are in the store; empty for a remote job, of which only its look-up is left. */
  body: v.record(v.string(), v.unknown()),
  images: v.array(file),
  mask: v.nullable(file),
  source: v.nullable(v.string()),
})

/** Holds no key, and no path of a machine but the base names of pictures, which are a part of the request. */
export type TaskMessage = v.InferOutput<typeof messageSchema>
type MessageFile = v.InferOutput<typeof file>

/** A file travels under its name unless that would lead elsewhere on another machine, or be none there. */
function isFileName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || isDeviceName(name)) return false
  if (/[/\\\p{Cc}]/u.test(name) || !name.isWellFormed()) return false
  return Buffer.byteLength(name) <= maxNameBytes
}

/** Puts what a task is made of into the shared store. @throws UsageError `bad_file_name`, and what `task.request` throws */
export async function encodeTask(
  task: Task,
  { run, folder, store }: { run: string; folder: string; store: Pick<SharedStore, 'put'> },
): Promise<TaskMessage> {
  const { instance, key, idempotencyKey, creation } = task
  const { body: _, ...price } = creation
  const put = async (source: BlobSource, sha256: string) => {
    await store.put(source, sha256).catch((error: unknown) => {
      throw error instanceof ModelgateError ? error.amend({ billed: 'no', ...error.facts }) : error
    })
  }
  const putFile = async (name: string): Promise<MessageFile> => {
    const path = resolve(folder, name)
    const found = await digestOfNamed(path)
    await put(path, found)
    return { sha256: found, name: basename(path) }
  }
  const none = { body: {}, images: [], mask: null, source: null }
  const request: TaskRequest = task.job === null ? await task.request() : none
  const media = new Map<string, Buffer>()
  const body = referToMedia(request.body, new Map(), (sha256, content) => media.set(sha256, content))
  for (const [sha256, content] of media) await put(content, sha256)
  const images: MessageFile[] = []
  for (const path of request.images) images.push(await putFile(path))
  return {
    version: messageVersion,
    run,
    instance: instance.id,
    key,
    idempotency_key: idempotencyKey,
    command: instance.command,
    model: instance.model,
    count: instance.count,
    is_json: instance.fields['schema'] !== undefined,
    creation: { ...price },
    body,
    images,
    mask: request.mask === null ? null : await putFile(request.mask),
    source: request.source,
  }
}

async function digestOfNamed(path: string): Promise<string> {
  if (!isFileName(basename(path))) {
    const message = `${shownPath(path)} cannot go through a queue: not every system takes its name.`
    throw new UsageError(message, { code: 'bad_file_name', hint: 'Give the file another name.' })
  }
  const found = await digestOfFile(path, false)
  if (found === undefined) throw readError(Object.assign(new Error('gone'), { code: 'ENOENT' }), path)
  return found.sha256
}

/** The server of a queue may hold anything. @throws UsageError `other_version`, `queue_damaged` */
export function decodeTask(text: string): TaskMessage {
  const { value } = parseJson(text)
  const { version: found } = objectOf(value)
  if (typeof found === 'number' && found !== messageVersion) {
    const message = `A task in the queue has version ${found}; this program reads version ${messageVersion}.`
    throw new UsageError(message, { code: 'other_version', hint: sameVersion })
  }
  const { success, output } = v.safeParse(messageSchema, value)
  if (!success) throw damaged()
  return output
}

/** Brings what a request is made of into `FOLDER/inputs/`. @throws UsageError `queue_damaged`, `store_missing`; FileError */
export async function placeRequest(
  { command, body: sent, images, mask, source }: TaskMessage,
  store: SharedStore,
  folder: string,
): Promise<TaskRequest> {
  const place = async (at: string, { sha256, name }: MessageFile) => {
    const path = join('inputs', at, name)
    await fetchFile(store, sha256, join(folder, path))
    return path
  }
  const placed: string[] = []
  for (const [at, image] of images.entries()) placed.push(await place(`${at}`, image))
  const contents = new Map<string, Buffer>()
  for (const { sha256 } of referencesIn(sent)) {
    if (!digestPattern.test(sha256)) throw damaged()
    if (contents.has(sha256)) continue
    const path = join(folder, 'inputs', sha256)
    await fetchFile(store, sha256, path)
    contents.set(sha256, await readFile(path))
  }
  const body: Body = restoreMedia(sent, ({ sha256 }) => contents.get(sha256)!)
  if (checkBody(creatingCommands[command].endpoint, body).length > 0) throw damaged()
  return { body, images: placed, mask: mask === null ? null : await place('mask', mask), source }
}

async function fetchFile(store: SharedStore, sha256: string, path: string): Promise<void> {
  await makeFolder(dirname(path)).catch(cannotWrite(path))
  if (await store.fetch(sha256, path)) return
  const message = `${JSON.stringify(basename(path))} is not in the store ${store.shown}, which the task needs.`
  const hint = 'All machines of a queue need the same --store.'
  throw new UsageError(message, { code: 'store_missing', hint })
}

export function taskOf(message: TaskMessage, body: Body): Pick<Task, 'instance' | 'key' | 'creation'> {
  const { instance: id, key, command, model, count, is_json: isJson, creation } = message
  const { creates: lane } = creatingCommands[command]
  const fields = isJson ? { schema: { kind: 'value', value: {} } as const } : {}
  const own = creation as unknown as Creation
  return {
    instance: { id, command, lane, model, count, fields },
    key,
    creation: lane === 'text' ? { ...own, body } : own,
  }
}

const sameVersion = 'All machines of a queue need the same version of modelgate.'

function damaged(): UsageError {
  const message = 'The queue holds a task that no run has written.'
  return new UsageError(message, { code: 'queue_damaged', hint: sameVersion })
}

/** A task as it lies on the server. Text, since a server may keep neither the order of names nor every character. */
export interface TaskData {
  readonly message: string
  readonly state: string
}

export type TaskJob = Job<TaskData>

const instant = v.pipe(v.number(), v.finite())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Written by whoever has won the attempt to send it, and nobody else. */
const stateSchema = v.strictObject({
  attempt: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  /** How often in a row the gateway has answered 429; of a remote job, how many look-ups in a row have failed. */
  failures: count,
  job: v.nullable(
    v.strictObject({ id: v.string(), kind: v.picklist(['video', 'operation']), since: instant }),
  ),
  made: v.nullable(madeImages),
  /** Null while it is under way, and where nobody knows. */
  outcome: v.nullable(
    v.union([
      // Its files are in the shared store, under plain names, which must not choose where something is written.
      v.custom<{ readonly kind: 'result' } & ReturnType<typeof partsOf>>(
        (value) => isObject(value) && value['kind'] === 'result' && readParts(value) !== undefined,
      ),
      v.strictObject({
        kind: v.literal('error'),
        exit: v.custom<ExitName>(isExitName),
        code: v.string(),
        message: v.string(),
        facts: v.custom<ErrorFacts>(isObject),
      }),
    ]),
  ),
})

export type TaskState = v.InferOutput<typeof stateSchema>
export type Outcome = NonNullable<TaskState['outcome']>

/** @throws ModelgateError `queue_damaged`, an unknown outcome */
export function stateOf({ id, data }: TaskJob): TaskState {
  const { success, output } = v.safeParse(stateSchema, parseJson(data.state).value)
  // Another id could lead to another folder.
  if (success && jobIdPattern.test(id ?? '')) return output
  throw new ModelgateError('unknown', 'queue_damaged', 'The queue holds a task that cannot be read.', {
    phase: 'result',
    billed: 'maybe',
  })
}

export const jobIdOf = (idempotencyKey: string) => `task-${idempotencyKey}`

const jobIdPattern = /^task-[0-9a-f]{32}$/

export function resultOutcome(result: TaskResult): Outcome {
  return { kind: 'result', ...partsOf(result) }
}

/** What only the worker's machine knows, such as paths, is left out. */
export function errorOutcome({ exit, code, message, facts: all }: ModelgateError): Outcome {
  const { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId } = all
  const facts = { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId }
  return { kind: 'error', exit, code, message, facts: facts as ErrorFacts }
}

export function resultFrom(outcome: Outcome): TaskResult {
  if (outcome.kind === 'error') throw errorFrom(outcome)
  return readParts(outcome)!
}

/** Whether what became of a task is known, or can be found out. */
export function isKnown({ outcome, job, made }: TaskState): boolean {
  return outcome === null ? job !== null || made !== null : isAnswer(outcome)
}

/** Whether nothing more of its request may still be there. */
export function isAnswer(outcome: Outcome): boolean {
  if (outcome.kind === 'result') return true
  const error = errorFrom(outcome)
  return isAnswered(error) || billedOf(error) === 'no'
}

function errorFrom({ exit, code, message, facts }: Outcome & { readonly kind: 'error' }): ModelgateError {
  return new ModelgateError(exit, asErrorCode(code), message, facts)
}
