import { hash } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { Document, isNode, LineCounter, parseDocument } from 'yaml'
import type { FileContext } from '../../context.ts'
import { asModelgateError, FileError, ModelgateError, UsageError } from '../../errors.ts'
import { openAtomicFile } from '../../files/atomic-file.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, readInputFile } from '../../files/input-file.ts'
import { takeLock } from '../../files/lock-file.ts'
import { isDeeperThan, isObject, objectOf, type JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { withoutSecrets, type Redactor } from '../operation.ts'
import type { Conversation, Style } from './conversation.ts'

export type ConversationFile = Awaited<ReturnType<typeof openConversationFile>>

const maxBytes = 64 * 1024 * 1024

/** Reads a conversation file, or prepares to create it. @throws UsageError `invalid_conversation`, FileError */
export async function openConversationFile(
  context: FileContext,
  path: string,
  options: {
    /** Of a file that says none. */
    readonly style: Style
    readonly isWritten: boolean
    readonly rescueFolder: string | undefined
  },
) {
  const { style, isWritten, rescueFolder } = options
  let known = await readText(context, path)
  let current = path
  // An empty file is as good as none.
  const conversation: Conversation = known
    ? readConversation(path, known, style)
    : { style, settings: {}, messages: [] }
  // Before anything is sent.
  if (isWritten) await (await openAtomicFile(context, path, { force: true })).discard()
  return {
    conversation,
    /**
     * What another process has written meanwhile is left alone: then this one continues in a file beside it.
     * @throws FileError `conversation_not_saved`, which names that file, or the one in the rescue folder
     */
    async save(next: Conversation, redactor: Redactor): Promise<void> {
      const content = formatConversation(withoutSecrets(next, redactor), path)
      const { cwd, platform, clock } = context
      const location = resolve(cwd, current)
      const lock = join(dirname(location), `.${basename(location)}.lock`)
      // One writer at a time. The write itself reports a folder that cannot be written.
      const release = await takeLock(lock, { platform, clock, waitMs: 2_000 }).catch(() => async () => {})
      try {
        const found = await readText(context, current).catch((error: unknown) =>
          asModelgateError(error, false),
        )
        const isMine = release !== undefined && (found === undefined || found === (known ?? ''))
        const isNew = !isMine || found === undefined
        const file = await openAtomicFile(context, isNew ? path : current, {
          force: !isNew,
          numbered: isNew,
          ...(isNew && { mode: 0o600 }),
          rescueFolder,
          hasArrived: true,
        })
        await file.write(content)
        const { path: written, rescued } = await file.commit()
        if (rescued !== undefined) throw rescued
        const before = current
        current = written
        known = content
        if (!isMine || (isNew && written !== before)) throw changed(before, written, found)
      } catch (error) {
        if (!(error instanceof ModelgateError) || error.code === 'conversation_not_saved') throw error
        const message = `The conversation was not saved: ${error.message}`
        const facts = { message, phase: 'output', billed: 'yes' } as const
        throw error.amend({ exit: 'io', code: 'conversation_not_saved', ...facts })
      } finally {
        await release?.()
      }
    },
  }
}

async function readText(context: FileContext, path: string): Promise<string | undefined> {
  const bytes = await readInputFile(context, path, { maxBytes, pipes: false })
  if (bytes instanceof ModelgateError) {
    if (bytes.code === 'not_found') return undefined
    if (bytes.code === 'empty_file') return ''
    throw bytes
  }
  const { text, problem } = decodeText(bytes)
  if (text !== undefined) return text
  throw new UsageError(`${shownPath(path)} ${problem}.`, { code: 'invalid_conversation' })
}

/** @param found what is in the file now, or why it cannot be read */
function changed(path: string, written: string, found: string | ModelgateError | undefined): FileError {
  const what =
    found instanceof ModelgateError
      ? found.message.replace(/\.$/, '')
      : `${shownPath(path)} was changed by another process meanwhile`
  const message = `${what}; the conversation with this exchange is in ${shownPath(written)}.`
  return new FileError('conversation_not_saved', message, {
    phase: 'output',
    billed: 'yes',
    hint: `Continue with either of them: --conversation-file ${shownPath(written)}`,
  })
}

/** Incremented when the meaning of a field changes. Version 1, of modelgate 0.1.0, had turns. */
const version = 2

/** A text that is small and means much is none of ours. */
const maxAliasCount = 20

/** Deeper than any request. */
const maxDepth = 128

/** The text of a conversation file: JSON if its name says so, else YAML. */
export function formatConversation(conversation: Conversation, path: string): string {
  const { style, gateway, model, system, settings, messages, response } = conversation
  const file = {
    version,
    style,
    gateway,
    model,
    system,
    settings: Object.keys(settings).length === 0 ? undefined : settings,
    messages,
    response: response && {
      id: response.id,
      messages: response.count,
      digest: digestOf(gateway, messages.slice(0, response.count)),
    },
  }
  const json = JSON.stringify(file, null, 2)
  return /\.json$/i.test(path) ? `${json}\n` : new Document(JSON.parse(json)).toString({ lineWidth: 0 })
}

/** Of the messages that a response stands for, and of where it is kept: it finds edits, and keeps nothing secret. */
function digestOf(gateway: string | undefined, messages: readonly unknown[]): string {
  return hash('sha256', JSON.stringify([gateway, ...messages])).slice(0, 16)
}

const isText = (value: unknown) => value === undefined || typeof value === 'string'

/** The fields of a file, and what each has to be; the response may be anything. */
const fields: Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, problem: string]>> = {
  version: [(value) => value === undefined || value === version, `only version ${version} is known here`],
  style: [
    (value) => [undefined, 'generate', 'respond'].includes(value as string),
    '"style" is generate or respond',
  ],
  gateway: [isText, '"gateway" has to be a text'],
  model: [isText, '"model" has to be a text'],
  system: [isText, '"system" has to be a text'],
  settings: [(value) => value === undefined || isObject(value), '"settings" is an object'],
  messages: [Array.isArray, '"messages" has to be a list'],
  response: [() => true, ''],
}

function unknownField(name: string): string {
  const near = nearestName(name, Object.keys(fields))
  const other = near === undefined ? `known are ${Object.keys(fields).join(', ')}` : `did you mean "${near}"?`
  return `"${name.slice(0, 40)}" is not known here (${other})`
}

/** Reads YAML, of which JSON is a part. @param usual the style of one that says none @throws UsageError with the place */
export function readConversation(file: string, text: string, usual: Style): Conversation {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    schema: 'core',
    logLevel: 'error',
  })
  const invalid = (offset: number | undefined, reason: string) => {
    const { line, col } = lineCounter.linePos(offset ?? 0)
    const place = offset === undefined ? file : `${file}:${line}:${col}`
    return new UsageError(`${place}: ${reason}.`, { code: 'invalid_conversation' })
  }
  const problem = (path: readonly unknown[], reason: string) => {
    const node = document.getIn(path, true)
    return invalid((isNode(node) ? node : document.contents)?.range?.[0], reason)
  }
  const [error] = document.errors
  if (error !== undefined) {
    // The rest of a message may quote the file.
    const reason = (error.message.split('\n')[0] ?? '').slice(0, 200)
    throw invalid(error.pos[0], reason.includes('call stack') ? tooDeep : `not valid YAML: ${reason}`)
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount })
  } catch {
    throw invalid(undefined, 'it has too many aliases, or one that leads nowhere')
  }
  if (isDeeperThan(value, maxDepth)) throw invalid(undefined, tooDeep)
  if (!isObject(value)) throw problem([], 'a conversation is an object with a list of "messages"')
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) throw problem([unknown], unknownField(unknown))
  for (const [name, [isRight, reason]] of Object.entries(fields)) {
    if (!isRight(value[name])) throw problem([name], reason)
  }
  const { version: _, ...read } = value as Partial<Conversation> & Pick<Conversation, 'messages'> & JsonObject
  const { style = usual, gateway, system, settings = {}, messages, response } = read
  const odd = messages.findIndex((message) => !isMessage(style, message))
  if (odd !== -1) throw problem(['messages', odd], `a message is an object: ${written[style]}`)
  const kept = keptResponse(gateway, messages, objectOf(response))
  return { ...read, style, settings, system: system || undefined, response: kept }
}

/** Only so far as a mistake of hand is likely: the rest is the contract's. A number needs quotes to be a text. */
function isMessage(style: Style, message: unknown): boolean {
  const { parts, content } = objectOf(message)
  if (style === 'generate') return Array.isArray(parts)
  return isObject(message) && typeof content !== 'number' && typeof content !== 'boolean'
}

/** What the gateway has kept, unless an edit has made another conversation of it. */
function keptResponse(
  gateway: string | undefined,
  messages: readonly unknown[],
  { id, messages: count, digest }: JsonObject,
): Conversation['response'] {
  if (typeof id !== 'string' || typeof count !== 'number' || count > messages.length) return undefined
  return digest === digestOf(gateway, messages.slice(0, count)) ? { id, count } : undefined
}

const tooDeep = `nested more than ${maxDepth} levels deep`

const written = {
  respond: '{role: user, content: TEXT}, of the model {role: assistant, content: TEXT}',
  generate: '{role: user, parts: [{text: TEXT}]}, of the model {role: model, parts: [{text: TEXT}]}',
} as const
