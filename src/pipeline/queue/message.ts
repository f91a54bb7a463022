import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import * as v from 'valibot'
import { creatingCommands } from '../../contract/commands.ts'
import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { checkBody } from '../../contract/field.ts'
import type { Creation } from '../../cost/creation.ts'
import { FileError, UsageError } from '../../errors.ts'
import { readError, shownPath, writeError } from '../../files/file-error.ts'
import { isDeviceName } from '../../files/file-name.ts'
import { referencesIn, referToMedia, restoreMedia } from '../../files/media-references.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isDeeperThan, isObject, maxJsonDepth } from '../../json.ts'
import type { Body } from '../../operations/operation.ts'
import type { Task, TaskRequest } from '../execute/task.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { digestOfFile } from '../store/file-digest.ts'
import type { SharedStore } from '../store/shared-store.ts'

/** The form of a message. A program reads its own only: all machines of a queue have one version. */
const messageVersion = 2

const maxWords = 4096
const maxFiles = 1000
/** A file name of most systems, in bytes. */
const maxNameBytes = 255

const words = v.pipe(v.string(), v.maxLength(maxWords, 'is too long'))
const digest = v.pipe(v.string(), v.regex(digestPattern, 'is not a SHA-256'))
const file = v.strictObject({
  sha256: digest,
  name: v.pipe(
    v.string(),
    v.check((name) => fileNameProblem(name) === undefined, 'is not a file name'),
  ),
})

const messageSchema = v.strictObject({
  version: v.literal(messageVersion),
  run: words,
  instance: words,
  key: digest,
  idempotency_key: words,
  command: v.picklist(Object.keys(creatingCommands) as CreatingCommand[]),
  model: v.nullable(words),
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxFiles)),
  is_json: v.boolean(),
  creation: v.record(v.string(), v.unknown()),
  /** With references in place of media, which are in the store. */
  body: v.nullable(v.record(v.string(), v.unknown())),
  images: v.pipe(v.array(file), v.maxLength(maxFiles, 'are too many')),
  mask: v.nullable(file),
  source: v.nullable(words),
})

/**
 * A request on its way to a worker: the finished body, with media and pictures by their digests. It holds no key, and no path
 * of a machine but the base names of pictures, which are a part of the request.
 */
export type TaskMessage = v.InferOutput<typeof messageSchema>
type MessageFile = v.InferOutput<typeof file>

/**
 * Puts a task into a message, and what it is made of into the shared store. Of a remote job only its look-up is left, which
 * needs no body.
 * @param folder of the project
 * @throws UsageError `input_name` for a name that not every system takes, and what `task.request` throws; FileError; what the
 * store throws
 */
export async function encodeTask(
  task: Task,
  { run, folder, put }: { run: string; folder: string; put(path: string, sha256: string): Promise<void> },
): Promise<TaskMessage> {
  const { instance, key, idempotencyKey, creation } = task
  const { body: _, ...price } = creation
  const message: TaskMessage = {
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
    body: null,
    images: [],
    mask: null,
    source: null,
  }
  if (task.job !== null) return message
  const request = await task.request()
  const media = new Map<string, Buffer>()
  const body = referToMedia(request.body, new Map(), (sha256, content) => media.set(sha256, content))
  for (const [sha256, content] of media) await putBytes(join(task.folder, 'media'), sha256, content, put)
  const images: MessageFile[] = []
  for (const path of request.images) images.push(await putFile(resolve(folder, path), put))
  const mask = request.mask === null ? null : await putFile(resolve(folder, request.mask), put)
  return { ...message, body, images, mask, source: request.source }
}

type Put = (path: string, sha256: string) => Promise<void>

async function putBytes(folder: string, sha256: string, content: Buffer, put: Put): Promise<void> {
  const path = join(folder, sha256)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(path, content, { mode: 0o600 })
  } catch (error) {
    throw writeError(error, path).amend({ billed: 'no' })
  }
  await put(path, sha256).finally(() => rmSync(folder, { recursive: true, force: true }))
}

async function putFile(path: string, put: Put): Promise<MessageFile> {
  const name = basename(path)
  const problem = fileNameProblem(name)
  if (problem !== undefined) {
    throw new UsageError(`${shownPath(path)} cannot go through a queue: its name ${problem}.`, {
      code: 'input_name',
      hint: 'Give the file another name.',
    })
  }
  const found = await digestOfFile(path, false)
  if (found === undefined) throw readError(Object.assign(new Error('gone'), { code: 'ENOENT' }), path)
  await put(path, found.sha256)
  return { sha256: found.sha256, name }
}

/**
 * Why a file cannot travel under its name, as a clause: it would lead elsewhere on another machine, or be none there.
 * Names that only Windows refuses are refused there.
 */
function fileNameProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'is no name of a file'
  if (/[/\\\p{Cc}]/u.test(name) || !name.isWellFormed()) return 'has characters that not every system takes'
  if (sep === '\\' && (/[<>:"|?*]/.test(name) || /[. ]$/.test(name))) return 'is no name of a file on Windows'
  if (isDeviceName(name)) return 'is the name of a device on Windows'
  return Buffer.byteLength(name) > maxNameBytes ? 'is too long' : undefined
}

/**
 * Reads the message of a task. The server of a queue may hold anything: what is taken has the body of its command, and files
 * with plain names.
 * @throws UsageError `queue_version` for a message of another version, `queue_message` for one that is damaged
 */
export function decodeTask(text: string): TaskMessage {
  const { value } = parseJson(text)
  const found = isObject(value) ? value['version'] : undefined
  if (typeof found === 'number' && found !== messageVersion) {
    throw new UsageError(
      `A task in the queue has version ${found}; this program reads version ${messageVersion}.`,
      { code: 'queue_version', hint: 'All machines of a queue need the same version of modelgate.' },
    )
  }
  // The check itself goes down with the value.
  if (isDeeperThan(value, maxJsonDepth)) throw queueMessage('is nested too deeply')
  const { success, output: message, issues } = v.safeParse(messageSchema, value)
  if (!success) {
    const place = v.getDotPath(issues[0])?.slice(0, 100)
    throw queueMessage(
      `is none: ${place === undefined ? '' : `${place}: `}${issues[0].message.slice(0, 200)}`,
    )
  }
  return message
}

/**
 * Brings what a request is made of from the shared store into `FOLDER/inputs/`.
 * @param folder absolute
 * @throws UsageError `queue_message` for a body that its command does not take; FileError `store_input_missing` when the store
 * has not all of it; FileError; ModelgateError of the store
 */
export async function placeRequest(
  message: TaskMessage,
  store: SharedStore,
  folder: string,
): Promise<TaskRequest> {
  const { command, images, mask, source } = message
  const place = async (at: string, { sha256, name }: MessageFile) => {
    const path = join('inputs', at, name)
    await fetchFile(store, sha256, join(folder, path))
    return path
  }
  const placed: string[] = []
  for (const [at, image] of images.entries()) placed.push(await place(`${at}`, image))
  const contents = new Map<string, Buffer>()
  for (const { sha256 } of referencesIn(message.body)) {
    if (!digestPattern.test(sha256)) throw queueMessage('refers to media by no SHA-256')
    if (contents.has(sha256)) continue
    const path = join(folder, 'inputs', sha256)
    await fetchFile(store, sha256, path)
    contents.set(sha256, await readFile(path))
  }
  const body: Body = restoreMedia({ ...message.body }, ({ sha256 }) => contents.get(sha256)!)
  const [violation] = checkBody(creatingCommands[command].endpoint, body)
  if (violation !== undefined) throw queueMessage(`asks for what ${command} does not take: ${violation.path}`)
  return { body, images: placed, mask: mask === null ? null : await place('mask', mask), source }
}

async function fetchFile(store: SharedStore, sha256: string, path: string): Promise<void> {
  await makeFolder(dirname(path)).catch((error: unknown) => {
    throw writeError(error, path)
  })
  if (await store.fetch(sha256, path)) return
  const message = `${JSON.stringify(basename(path))} is not in the store ${store.shown}, which the task needs.`
  throw new FileError('store_input_missing', message, {
    phase: 'input',
    billed: 'no',
    hint: 'All machines of a queue need the same --store.',
  })
}

/** The task of a message, for what executes it. */
export function taskOf(message: TaskMessage, body: Body): Pick<Task, 'instance' | 'key' | 'creation'> {
  const { instance: id, key, command, model, count, is_json: isJson, creation } = message
  const { creates: lane } = creatingCommands[command]
  const own = creation as unknown as Creation
  return {
    instance: {
      id,
      command,
      lane,
      model,
      count,
      fields: isJson ? { schema: { kind: 'value', value: {} } } : {},
    },
    key,
    creation: lane === 'text' ? { ...own, body } : own,
  }
}

/** @param clause says what the message is, without a full stop */
function queueMessage(clause: string): UsageError {
  return new UsageError(`The message of a task in the queue ${clause}.`, {
    code: 'queue_message',
    hint: 'All machines of a queue need the same version of modelgate.',
  })
}
