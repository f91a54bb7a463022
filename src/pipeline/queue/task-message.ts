import { sep } from 'node:path'
import * as v from 'valibot'
import type { CreatingCommand } from '../../contract/command-inputs.ts'
import { creatingCommands } from '../../contract/commands.ts'
import { checkBody } from '../../contract/field.ts'
import { UsageError } from '../../errors.ts'
import { isDeviceName } from '../../files/file-name.ts'
import { parseJson } from '../../files/parse-json.ts'
import { isDeeperThan, isObject, maxJsonDepth } from '../../json.ts'
import { isProblem } from '../../problems.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { fieldsOf, type CommandField } from '../manifest/command-fields.ts'
import { bodyOfFields, outputCount } from '../manifest/instance-body.ts'
import { referencesOf, type FieldValue, type Instance } from '../manifest/manifest.ts'

/** The form of a message. A program reads its own only: all machines of a queue have one version. */
export const messageVersion = 1

/** A request on its way to a worker: what executing it takes, with files by their digests. No key, and no path of a machine. */
export interface TaskMessage {
  /** Its input files are named `inputs/N/NAME`, and all its references are in `upstream`. */
  readonly instance: Instance
  /** Everything that goes in, in the shared store. */
  readonly files: readonly MessageFile[]
  /** What each reference stands for, by its text. */
  readonly upstream: ReadonlyMap<string, MessageResult>
}

export interface MessageFile {
  readonly sha256: string
  /** The base name that it has in the request. */
  readonly name: string
}

export interface MessageResult {
  readonly files: readonly { readonly file: number; readonly media_type: string }[]
  readonly job_id: string | null
}

/** The path of a file of a message, relative to the folder of its inputs. */
export function inputPath(files: readonly MessageFile[], at: number): string {
  return `inputs/${at}/${files[at]!.name}`
}

/** More than any request takes. */
const maxFiles = 1000
const maxWords = 4096
/** A file name of most systems, in bytes. */
const maxNameBytes = 255

const words = v.pipe(v.string(), v.maxLength(maxWords, 'is too long'))
const ordinal = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxFiles - 1))

const fieldSchema = v.union(
  [
    // As text: a server may not keep the order of names, in which a schema has its properties.
    v.strictObject({ json: v.string() }),
    v.strictObject({ text: v.string() }),
    v.strictObject({ text_of: words }),
    v.strictObject({
      files: v.pipe(
        v.array(
          v.union([
            v.strictObject({ file: ordinal, role: v.nullable(words) }),
            v.strictObject({ of: words, role: v.nullable(words) }),
          ]),
        ),
        v.maxLength(maxFiles, 'are too many'),
      ),
    }),
  ],
  'is no value of a field',
)

const messageSchema = v.strictObject({
  version: v.literal(messageVersion),
  id: words,
  command: v.picklist(Object.keys(creatingCommands) as CreatingCommand[]),
  model: v.nullable(words),
  /** The path of the output, for a warning about its name. */
  output: words,
  on_unknown: v.picklist(['stop', 'retry']),
  fields: v.array(v.strictObject({ name: words, value: fieldSchema })),
  files: v.pipe(
    v.array(
      v.strictObject({
        sha256: v.pipe(v.string(), v.regex(digestPattern, 'is not a SHA-256')),
        name: v.pipe(
          v.string(),
          v.check((name) => fileNameProblem(name) === undefined, 'is not a file name'),
        ),
      }),
    ),
    v.maxLength(maxFiles, 'are too many'),
  ),
  upstream: v.array(
    v.strictObject({
      reference: words,
      files: v.array(v.strictObject({ file: ordinal, media_type: words })),
      job_id: v.nullable(words),
    }),
  ),
})

export type WireMessage = v.InferOutput<typeof messageSchema>
export type WireField = WireMessage['fields'][number]['value']

/**
 * Why a file cannot travel under its name, as a clause: it would lead elsewhere on another machine, or be none there.
 * Names that only Windows refuses are refused there.
 */
export function fileNameProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'is no name of a file'
  if (/[/\\\p{Cc}]/u.test(name) || !name.isWellFormed()) return 'has characters that not every system takes'
  if (sep === '\\' && (/[<>:"|?*]/.test(name) || /[. ]$/.test(name))) return 'is no name of a file on Windows'
  if (isDeviceName(name)) return 'is the name of a device on Windows'
  return Buffer.byteLength(name) > maxNameBytes ? 'is too long' : undefined
}

/**
 * Reads the message of a task. The server of a queue may hold anything: what is taken is a request that a manifest could
 * have made, with files that have plain names.
 * @throws UsageError `queue_message`, and nothing else
 */
export function decodeTask(value: unknown): TaskMessage {
  const found = isObject(value) ? value['version'] : undefined
  if (typeof found === 'number' && found !== messageVersion) {
    throw queueMessage(`has version ${found}; this program reads version ${messageVersion}`)
  }
  // The check itself goes down with the value.
  if (isDeeperThan(value, maxJsonDepth)) throw queueMessage('is nested too deeply')
  const { success, output: message, issues } = v.safeParse(messageSchema, value)
  if (!success) {
    const place = v.getDotPath(issues[0])
    throw queueMessage(
      `is none: ${place === null ? '' : `${place.slice(0, 100)}: `}${issues[0].message.slice(0, 200)}`,
    )
  }
  const upstream = new Map(
    message.upstream.map(({ reference, files, job_id }) => [reference, { files, job_id }] as const),
  )
  const fields = fieldsOfMessage(message)
  const references = Object.values(fields).flatMap(referencesOf)
  const used = new Set(references.map(({ text }) => text))
  const isPlain = upstream.size === message.upstream.length && used.size === upstream.size
  if (!isPlain || ![...used].every((text) => upstream.has(text))) {
    throw queueMessage('has other references than results')
  }
  const numbers = message.upstream.flatMap(({ files }) => files.map(({ file }) => file))
  if (numbers.some((file) => file >= message.files.length)) throw queueMessage('names a file that it has not')
  return { instance: instanceOf(message, fields), files: message.files, upstream }
}

function fieldsOfMessage({ command, fields, files }: WireMessage): Record<string, FieldValue> {
  const known = fieldsOf(command)
  const found: Record<string, FieldValue> = {}
  for (const { name, value } of fields) {
    const field = known.get(name)
    if (field === undefined || !isKindOf(field, value) || Object.hasOwn(found, name)) {
      throw queueMessage(`has a field that ${command} does not take`)
    }
    found[name] = fieldOf(value, files)
  }
  return found
}

/** Whether a manifest could give the field such a value (`resolve-field.ts`). */
function isKindOf(field: CommandField, value: WireField): boolean {
  if ('files' in value) {
    if (field.kind === 'source') return value.files.length === 1 && 'of' in value.files[0]!
    if (field.kind !== 'files') return false
    const { isList } = field.input
    const roles: readonly string[] = field.input.roles ?? []
    const hasRoles = value.files.every(({ role }) => role === null || roles.includes(role))
    return hasRoles && value.files.length > 0 && (isList || value.files.length === 1)
  }
  if ('json' in value) return field.kind !== 'files'
  return field.kind === 'text'
}

function fieldOf(value: WireField, files: readonly MessageFile[]): FieldValue {
  if ('text' in value) return { kind: 'text', text: value.text, path: null }
  if ('text_of' in value) return { kind: 'text of', reference: referenceTo(value.text_of) }
  if ('json' in value) {
    const { value: parsed, problem } = parseJson(value.json)
    if (problem !== undefined || isDeeperThan(parsed, maxJsonDepth)) {
      throw queueMessage('has a value that is no JSON')
    }
    return { kind: 'value', value: parsed }
  }
  return {
    kind: 'files',
    files: value.files.map((given) => {
      if ('of' in given) return { source: { reference: referenceTo(given.of) }, role: given.role }
      if (given.file >= files.length) throw queueMessage('names a file that it has not')
      return { source: { path: inputPath(files, given.file) }, role: given.role }
    }),
  }
}

/** Whatever it was a reference to: its result travels with it. */
function referenceTo(text: string) {
  return { text, instance: text, candidate: null }
}

function instanceOf(message: WireMessage, fields: Instance['fields']): Instance {
  const { id, command, model, output, on_unknown: onUnknown } = message
  const { creates: lane, endpoint } = creatingCommands[command]
  const named = fields['model']?.kind === 'value' ? fields['model'].value : model
  if (named !== model) throw queueMessage('has two models')
  const instance: Instance = {
    id,
    job: id,
    command,
    lane,
    model,
    fields,
    references: Object.values(fields).flatMap(referencesOf),
    output,
    count: 1,
    variants: 1,
    pick: null,
    alt: null,
    asserts: {},
    acceptsMismatch: false,
    isFrozen: false,
    onUnknown,
    at: { file: '', line: 1, column: 1 },
  }
  try {
    const body = bodyOfFields(instance)
    const [violation] = checkBody(endpoint, body)
    if (violation !== undefined)
      throw queueMessage(`asks for what ${command} does not take: ${violation.path}`)
    return { ...instance, count: outputCount(instance, body) }
  } catch (error) {
    throw isProblem(error) && error.code !== 'queue_message' ? queueMessage('makes no request') : error
  }
}

/** @param clause says what the message is, without a full stop */
function queueMessage(clause: string): UsageError {
  return new UsageError(`The message of a task in the queue ${clause}.`, {
    code: 'queue_message',
    hint: 'All machines of a queue need the same version of modelgate.',
  })
}
