import { resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { UsageError, type ModelgateError } from '../../errors.ts'
import type { TextDocument } from '../../events/text.ts'
import { referencesIn, referToMedia } from '../../files/media-references.ts'
import { listOf, objectOf, type JsonObject } from '../../json.ts'
import type { TextReply } from '../../gateway/stream-text.ts'
import type { Body, Outcome, Redactor } from '../operation.ts'
import type { ConversationFile } from './conversation-file.ts'
import { withMedia } from './media.ts'
import { continueFrom, messagesFor, prependMessages, type NextRequest } from './next-request.ts'
import {
  answerTurn,
  countExchanges,
  messagesOf,
  pendingCalls,
  settingsOf,
  turnsOf,
  type Answer,
  type Conversation,
  type PendingCall,
  type Style,
} from './turns.ts'

/** A conversation that goes on, request by request. */
export interface Session {
  readonly conversation: Conversation
  /** The line that says what is gone on with; undefined for a new conversation. */
  readonly announcement: string | undefined
  /** The file that keeps it, if there is one. */
  readonly file: Pick<ConversationFile, 'path'> | undefined
  /** Takes back the last answer, to ask once more. @returns whether there is a question then */
  dropAnswer(): boolean
  /** Goes on from another conversation. */
  replace(conversation: Conversation): void
  /** Other instructions from now on; undefined for none. */
  instruct(system: string | undefined): void
  /**
   * Prepares the next request, before it has its new messages.
   * @param body with what the caller has said so far, which wins
   * @throws FileError for media that cannot be sent again
   */
  prepare(style: Style, body: Body): Promise<PreparedRequest>
}

/** A request that goes on with a conversation. */
export interface PreparedRequest {
  /** The messages so far, for calls of tools to be found in. */
  readonly known: readonly JsonObject[]
  /** The model that was asked last. */
  readonly model: string | undefined
  /** The line that says what is gone on with; undefined for a new conversation. */
  readonly announcement: string | undefined
  /** The files whose content it sends again. */
  readonly media: readonly string[]
  /** Whether the last word is the user's, so that nothing has to be added. */
  readonly awaitsAnswer: boolean
  /**
   * Puts the earlier messages before the new ones.
   * @param paths the files of attachments, by the SHA-256 of their content
   * @throws UsageError when a call of a tool stays without an answer
   */
  complete(body: Body, paths: ReadonlyMap<string, string>): void
  /**
   * The same request in a form that the gateway may take, after it has refused this one at no cost: whole, where it does
   * not have the response that is gone on from. Undefined where there is none.
   */
  instead(error: ModelgateError): Promise<{ readonly body: Body; readonly note: string } | undefined>
  /**
   * Adds what was said and what came of it, and saves it.
   * @param redactor takes secrets out of what is saved
   * @throws FileError when it cannot be saved
   */
  record(request: SentRequest, outcome: Outcome<TextDocument>, redactor: Redactor): Promise<void>
}

interface SentRequest {
  readonly model: string | null
  /** As it was sent. */
  readonly body: Body
  /** What came; undefined where nothing did. */
  readonly reply: TextReply | undefined
}

interface SessionStart {
  /** Undefined for a new one. */
  readonly conversation?: Conversation | undefined
  readonly file?: ConversationFile | undefined
  /** The gateway: `sandbox`, or the origin of its base URL. */
  readonly source: string | undefined
}

export function createSession(
  context: FileContext,
  { conversation = emptyConversation, file, source }: SessionStart,
): Session {
  let current = conversation
  /** Whether the gateway does not encrypt the reasoning of this model. */
  let refusesEncryption = false
  return {
    get conversation() {
      return current
    },
    get announcement() {
      return announce(current)
    },
    file,
    dropAnswer() {
      const at = current.turns.findLastIndex(({ role }) => role === 'user')
      current = { ...current, turns: current.turns.slice(0, at + 1) }
      return at !== -1
    },
    replace(other) {
      current = other
    },
    instruct(system) {
      current = { ...current, system }
    },
    async prepare(style, body) {
      const before = current
      adopt(body, continueFrom(before, { style, source, isStored: false }).fields)
      const next: NextRequest = { style, source, isStored: body['store'] !== false }
      const { fields, turns, isAnchored } = continueFrom(before, next)
      adopt(body, fields)
      const included = body['include']
      const encrypts = style === 'respond' && !next.isStored && !refusesEncryption
      if (encrypts) body['include'] = [...new Set([...listOf(included), encryptedReasoning])]
      const sent = messagesFor(await withMedia(context, turns), style)
      const pending = pendingCalls(before)
      let added: readonly JsonObject[] = []
      return {
        known: before.turns.flatMap(({ messages }) => messages),
        model: before.model,
        announcement: announce(before),
        media: referencesIn(turns.map(({ messages }) => messages)).flatMap(({ path }) => path ?? []),
        awaitsAnswer: before.turns.at(-1)?.role === 'user',
        complete(body, paths) {
          added = referToMedia(messagesOf(style, body), paths)
          refuseUnanswered(pending, added)
          prependMessages(style, body, sent)
        },
        async instead(error) {
          if (encrypts && isRefused(error) && /encrypted/i.test(error.message)) {
            refusesEncryption = true
            const { include: _, ...rest } = body
            const note =
              'The gateway does not encrypt the reasoning of this model, so it will not be sent back.'
            return { body: included === undefined ? rest : { ...rest, include: included }, note }
          }
          if (!isAnchored || before.before !== undefined || !isUnknownResponse(error)) return undefined
          const whole = messagesFor(await withMedia(context, before.turns), style)
          const { previous_response_id: _, input: __, ...rest } = body
          const again: Body = { ...rest, input: await withMedia(context, added) }
          prependMessages(style, again, whole)
          const note =
            'The gateway no longer has the earlier answer, so the whole conversation was sent instead.'
          return { body: again, note }
        },
        async record(request, outcome, redactor) {
          const { model, body, reply } = request
          const answer = reply && answerTurn(answerOf(context, style, source, request, outcome))
          if (answer === undefined) return
          const { include: _, ...asked } = body
          current = {
            ...settingsOf(style, encrypts ? asked : body),
            style,
            model: model ?? undefined,
            before: before.before,
            turns: [...before.turns, ...turnsOf(style, added), answer],
          }
          await file?.save(current, redactor)
        },
      }
    },
  }
}

const emptyConversation: Conversation = {
  style: 'respond',
  model: undefined,
  system: undefined,
  settings: {},
  turns: [],
}

const shownCharacters = 40

/** What is gone on with, in one line. */
function announce(conversation: Conversation): string | undefined {
  const { turns, model, before } = conversation
  if (turns.length === 0 && before === undefined) return undefined
  const first = turns.find(({ role, text }) => role === 'user' && text.trim() !== '')?.text ?? ''
  const line = first.replaceAll(/\s+/g, ' ').trim()
  const words =
    line.length > shownCharacters ? `${line.slice(0, shownCharacters).replace(/\s\S*$/, '')}…` : line
  const count = countExchanges(conversation)
  const known = `${count}${before === undefined ? '' : ' or more'} ${count === 1 && before === undefined ? 'turn' : 'turns'}`
  return [
    `continuing ${JSON.stringify(words)}`,
    known,
    ...(model === undefined ? [] : [`model ${model}`]),
  ].join(', ')
}

/** Adds fields that the caller has not set. */
function adopt(body: Body, fields: Body): void {
  for (const [name, value] of Object.entries(fields)) {
    if (body[name] === undefined) body[name] = value
    else if (name === 'generationConfig') body[name] = { ...objectOf(value), ...objectOf(body[name]) }
  }
}

/** The answer of a call that has just ended. */
function answerOf(
  { cwd }: FileContext,
  style: Style,
  source: string | undefined,
  { body, reply }: SentRequest,
  outcome: Outcome<TextDocument>,
): Answer {
  const { document } = outcome
  const failure = outcome.kind === 'failed' ? outcome.error : outcome.failure
  const files = new Map(document?.files.map(({ path, sha256 }) => [sha256, resolve(cwd, path)]))
  return {
    style,
    source,
    reply: referToMedia({ ...reply }, files),
    isStored: body['store'] !== false && objectOf(document?.response)['store'] !== false,
    isWhole: reply?.is_partial !== true && (failure === undefined || endsWhole(failure)),
  }
}

/** Whether the answer came whole, and something else is wrong: its form, or a file that could not be written. */
function endsWhole({ exit, code }: Pick<ModelgateError, 'exit' | 'code'>): boolean {
  return ['schema', 'io', 'partial'].includes(exit) || code === 'finish_length'
}

/** @throws UsageError that names each call that the new messages leave without an answer */
function refuseUnanswered(pending: readonly PendingCall[], added: readonly JsonObject[]): void {
  const answered = new Set<unknown>(
    added.flatMap((message) => [
      message['call_id'],
      message['approval_request_id'],
      ...listOf(message['parts']).flatMap((part) => {
        const { id, name } = objectOf(objectOf(part)['functionResponse'])
        return [id, name]
      }),
    ]),
  )
  const open = pending.filter(({ id, name, kind }) => {
    return !answered.has(id) && (kind !== 'function' || !answered.has(name) || name === '')
  })
  if (open.length === 0) return
  const flags = { function: '--tool-output', custom: '--custom-tool-output', approval: '--approve' } as const
  const ways = open.map(({ id, kind }) => `${flags[kind]} ${id}${kind === 'approval' ? '' : '=TEXT'}`)
  const names = open.map(({ name, id }) => (name === '' ? id : name)).join(', ')
  throw new UsageError(`The last answer waits for what ${names} gives.`, {
    code: 'call_not_answered',
    hint: `Answer with ${ways.join(' ')}; or start a new conversation.`,
  })
}

/** What lets reasoning go back to a gateway that keeps nothing (specification, endpoint 2, `include`). */
const encryptedReasoning = 'reasoning.encrypted_content'

/** Whether a gateway has refused a request, at no cost. */
function isRefused({ exit, facts }: ModelgateError): boolean {
  return exit === 'rejected' && (facts.billed ?? 'no') === 'no'
}

/** Whether a gateway says that it does not have the response that a request goes on from. */
function isUnknownResponse(error: ModelgateError): boolean {
  if (!isRefused(error)) return false
  return error.code === 'previous_response_not_found' || /previous[_ ]response/i.test(error.message)
}
