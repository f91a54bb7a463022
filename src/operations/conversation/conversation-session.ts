import { resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { UsageError, ModelgateError, FileError, type ErrorCode } from '../../errors.ts'
import type { TextDocument } from '../../events/text.ts'
import {
  referencesIn,
  referToMedia,
  restoreMedia,
  type MediaReference,
} from '../../files/media-references.ts'
import { listOf, objectOf, objectsOf, type JsonObject } from '../../json.ts'
import type { TextReply } from '../../gateway/stream-text.ts'
import type { Attachment } from '../attachments.ts'
import type { Body, Outcome, Redactor } from '../operation.ts'
import type { ConversationFile } from './conversation-file.ts'
import {
  answerOf,
  isCallers,
  isKept,
  lastAnswer,
  messageField,
  messagesOf,
  settingsOf,
  systemField,
  textOf,
  type Conversation,
  type Style,
} from './conversation.ts'
import { hash } from 'node:crypto'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'

export interface Session {
  conversation: Conversation
  /** Where it continues: `sandbox`, or the origin of the base URL; undefined before it is known. */
  readonly gateway: string | undefined
  /** The file that keeps it, if there is one. */
  readonly file?: ConversationFile | undefined
  /** Whether the gateway does not encrypt the reasoning of this model. */
  refusesEncryption?: boolean
}

export type PreparedRequest = Awaited<ReturnType<typeof prepareRequest>>

/** What lets reasoning go back to a gateway that keeps nothing (specification, endpoint 2, `include`). */
const encryptedReasoning = 'reasoning.encrypted_content'

/**
 * Prepares the next request, before it has its new messages.
 * @param body with what the caller has said so far, which takes precedence
 * @throws UsageError for another style or gateway; FileError for media that cannot be sent again
 */
export async function prepareRequest(context: FileContext, session: Session, style: Style, body: Body) {
  const before = session.conversation
  const { messages, response, lacksBeginning } = before
  refuseOther(before, style, session.gateway)
  adopt(body, before)
  const isAnchored = response !== undefined && isKept(body)
  if (isAnchored && body['conversation'] == null) body['previous_response_id'] ??= response.id
  const included = body['include']
  const encrypts = style === 'respond' && body['store'] === false && !session.refusesEncryption
  if (encrypts) body['include'] = [...new Set([...listOf(included), encryptedReasoning])]
  const earlier = isAnchored ? messages.slice(response.count) : messages
  const sent = await withMedia(context, earlier)
  let own: readonly unknown[] = []
  let added: readonly JsonObject[] = []
  return {
    /** The messages so far, for calls of tools to be found in. */
    known: messages,
    model: before.model,
    announcement: announce(before),
    /** The files whose content it sends again. */
    media: referencesIn(earlier).flatMap(({ path }) => path ?? []),
    /** Whether the last word is the user's, so that nothing has to be added. */
    awaitsAnswer: messages.length > 0 && lastAnswer(messages).length === 0,
    /** Puts the earlier messages before the new ones, which may have attachments. */
    complete(attachments: readonly Attachment[]) {
      own = messagesOf(style, body)
      const files = attachments.filter((attachment) => attachment.kind === 'file')
      const paths = new Map(
        files.flatMap(({ content, path }) => (path ? [[hash('sha256', content), path]] : [])),
      )
      added = referToMedia(objectsOf(own), paths)
      if (sent.length > 0) body[messageField[style]] = [...sent, ...own]
    },
    /** The same request in a form that the gateway may take, after it has refused this one at no cost. */
    async instead(error: ModelgateError): Promise<{ body: Body; note: string } | undefined> {
      if (error.exit !== 'rejected' || (error.facts.billed ?? 'no') !== 'no') return undefined
      if (encrypts && /encrypted/i.test(error.message)) {
        session.refusesEncryption = true
        const note = 'The gateway does not encrypt the reasoning of this model, so it will not be sent back.'
        const { include: _, ...rest } = body
        return { body: included === undefined ? rest : { ...rest, include: included }, note }
      }
      const { code, message } = error
      const isUnknown = code === 'previous_response_not_found' || /previous[_ ]response/i.test(message)
      if (!isAnchored || lacksBeginning || !isUnknown) return undefined
      const { previous_response_id: _, ...rest } = body
      const whole = [...(await withMedia(context, messages)), ...own]
      const note = 'The gateway no longer has the earlier answer, so the whole conversation was sent instead.'
      return { body: { ...rest, [messageField[style]]: whole }, note }
    },
    /** Adds what was said and what came of it, and saves it. @param sent the body as it was sent @throws FileError */
    async record(
      sent: { readonly model: string | null; readonly body: Body; readonly reply: TextReply | undefined },
      outcome: Outcome<TextDocument>,
      redactor: Redactor,
    ) {
      const { model, body, reply } = sent
      const { document } = outcome
      const failure = outcome.kind === 'failed' ? outcome.error : outcome.failure
      const files = new Map(document?.files.map(({ path, sha256 }) => [sha256, resolve(context.cwd, path)]))
      const isWhole = reply?.is_partial !== true && (failure === undefined || endsWhole(failure))
      const answer = reply && answerOf(style, referToMedia({ ...reply }, files), isWhole)
      if (answer === undefined) return
      const { id } = answer
      const all = [...messages, ...added, ...answer.messages]
      // A gateway may say itself that it keeps nothing.
      const isStored = isKept(body) && objectOf(document?.response)['store'] !== false
      session.conversation = {
        ...settingsOf(style, encrypts ? { ...body, include: included } : body),
        style,
        gateway: session.gateway,
        model: model ?? undefined,
        messages: all,
        response: id !== undefined && isStored ? { id, count: all.length } : response,
        lacksBeginning,
      }
      await session.file?.save(session.conversation, redactor)
    },
  }
}

/** Takes back the last answer, to ask once more. @returns whether there is a question then */
export function dropAnswer(session: Session): boolean {
  const { messages, response } = session.conversation
  const asked = messages.slice(0, messages.findLastIndex(isCallers) + 1)
  const stillHolds = response !== undefined && response.count <= asked.length
  session.conversation = {
    ...session.conversation,
    messages: asked,
    response: stillHolds ? response : undefined,
  }
  return asked.length > 0
}

function adopt(body: Body, { style, settings, system }: Conversation): void {
  const instructions = system === undefined ? [] : [systemField(style, system)]
  for (const [name, value] of [...instructions, ...Object.entries(settings)]) {
    if (body[name] === undefined) body[name] = value
    else if (name === 'generationConfig') body[name] = { ...objectOf(value), ...objectOf(body[name]) }
  }
}

const shownCharacters = 40

/** The line that says what is continued; undefined for a new conversation. */
export function announce(conversation: Conversation): string | undefined {
  return conversation.messages.length === 0 ? undefined : `continuing ${titleOf(conversation)}`
}

/** `"Name three rivers", 2 turns, model some-model` */
export function titleOf({ messages, model, lacksBeginning }: Conversation): string {
  const texts = messages.filter(isCallers).map((message) => textOf(message).replaceAll(/\s+/g, ' ').trim())
  const line = texts.find((text) => text !== '') ?? ''
  const isLong = line.length > shownCharacters
  const words = isLong ? `${line.slice(0, shownCharacters).replace(/\s\S*$/, '')}…` : line
  const begins = (at: number) => isCallers(messages[at]!) && !(at > 0 && isCallers(messages[at - 1]!))
  const count = messages.filter((_, at) => begins(at)).length
  const known = `${count}${lacksBeginning ? ' or more' : ''} ${count === 1 && !lacksBeginning ? 'turn' : 'turns'}`
  return [JSON.stringify(words), known, ...(model === undefined ? [] : [`model ${model}`])].join(', ')
}

/** @throws UsageError for the other style, and for another gateway than the one that it was held with */
function refuseOther({ style, gateway }: Conversation, next: Style, here: string | undefined): void {
  if (style !== next) {
    throw new UsageError(`The conversation is one of ${style}; ${next} cannot continue it.`, {
      code: 'invalid_conversation',
      hint: `Continue with modelgate ${style}.`,
    })
  }
  if (gateway === undefined || here === undefined || gateway === here) return
  const where = (name: string) => (name === 'sandbox' ? 'the sandbox' : name)
  const way = gateway === 'sandbox' ? '--sandbox' : `--base-url, or the --profile, of ${gateway}`
  throw new UsageError(`The conversation was held with ${where(gateway)}; ${where(here)} does not know it.`, {
    code: 'other_gateway',
    hint: `Continue with ${way}, or start a new conversation.`,
  })
}

/** Whether the answer came whole, and something else is wrong. */
function endsWhole({ exit, code }: ModelgateError): boolean {
  return ['schema', 'io', 'partial'].includes(exit) || code === 'finish_length'
}

/** Puts the media that kept messages refer to back. @throws FileError for a file that is gone or has changed */
async function withMedia<Value>(context: FileContext, value: Value): Promise<Value> {
  const contents = new Map<string, Buffer>()
  for (const reference of referencesIn(value)) {
    if (!contents.has(reference.sha256)) contents.set(reference.sha256, await contentOf(context, reference))
  }
  return restoreMedia(value, ({ sha256 }) => contents.get(sha256)!)
}

async function contentOf(context: FileContext, { path, sha256, bytes }: MediaReference): Promise<Buffer> {
  const lost = (code: ErrorCode, what: string) => {
    const hint =
      'Put it back, or start again without the exchange that has it: a conversation keeps no copies.'
    return new FileError(code, `The conversation contains ${what}`, { phase: 'input', billed: 'no', hint })
  }
  if (path === undefined || path === '-') {
    throw lost('not_found', `${bytes} bytes that came from standard input, of which there is no copy.`)
  }
  // A pipe is not what was read then.
  const content = await readInputFile(context, path, { pipes: false })
  if (content instanceof ModelgateError) throw lost(content.code, `${shownPath(path)}: ${content.message}`)
  if (hash('sha256', content) === sha256) return content
  throw lost('source_changed', `${shownPath(path)}, which has changed since.`)
}
