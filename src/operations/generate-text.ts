import { leadTo, type NextCommand } from '../files/next-command.ts'
import type { ResponseState } from '../contract/response-object.ts'
import type { Creation } from '../cost/creation.ts'
import { ModelgateError } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { SavedFile, TextDocument, TextEvent, TextResult } from '../events/text.ts'
import type { Gateway, GatewayRequest } from '../gateway/gateway.ts'
import { jsonRequest } from '../gateway/send-request.ts'
import {
  streamText,
  type DecoderOptions,
  type TextDecoder,
  type TextReceiver,
} from '../gateway/stream-text.ts'
import { idempotencyKeyOf } from '../gateway/url.ts'
import { countOf, objectOf } from '../json.ts'
import type { AnswerSchema } from './answer-schema.ts'
import type { PreparedRequest } from './conversation/conversation-session.ts'
import { settle, type Body, type Call, type Outcome } from './operation.ts'
import type { ImageData, ImageSaver } from './text-images.ts'

export interface TextRequest {
  readonly command: 'generate' | 'respond'
  /** The requested model; null when the gateway chooses. */
  readonly model: string | null
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body: Body
  readonly streamed: boolean
  readonly answerSchema?: AnswerSchema | undefined
  readonly warnings: readonly string[]
  /** The conversation that it continues. */
  readonly talk?: PreparedRequest | undefined
  readonly createDecoder: (options: DecoderOptions) => TextDecoder
}

export interface TextPlan {
  /** The folder for images in the reply. */
  readonly folder: string
  /** Whether the document contains the whole text and the gateway's own response, which takes memory. */
  readonly keepsResponse: boolean
  /** Whether an answer cut short by the token limit is a failure. */
  readonly strict: boolean
  /** The command that waits for a response, for hints. @param after where its stream continues */
  readonly resume?: ((id: string, after?: number) => NextCommand) | undefined
}

export function textGatewayRequest(gateway: Gateway, request: TextRequest): GatewayRequest {
  const { path, query, body, streamed } = request
  const idempotencyKey = idempotencyKeyOf(gateway)
  // A background response is a job: a second one would continue, and be paid for, unseen.
  const kind = body['background'] === true ? 'create' : 'text'
  const creation = textCreation(request)
  return jsonRequest(gateway, path, { kind, creation, query, body, streamed, idempotencyKey })
}

export function textCreation({ model, body }: Pick<TextRequest, 'model' | 'body'>): Creation {
  const config = objectOf(body['generationConfig'])
  const each = countOf(body['max_output_tokens'] ?? config['maxOutputTokens'])
  // How long all candidates together may get.
  const maxOutputTokens = each === null ? null : each * Math.max(1, countOf(config['candidateCount']) ?? 1)
  return { model, count: 1, of: 'text', body, maxOutputTokens }
}

export type TextRun = ReturnType<typeof beginAnswer>

export type AnswerFacts = Pick<TextRequest, 'model' | 'answerSchema' | 'createDecoder' | 'warnings'> & {
  readonly command: TextDocument['command']
  /** The id of the response, if it is known before its reply. */
  readonly id?: string
  /** Whether the stream begins in the middle of the answer. */
  readonly isRest?: boolean
  /** Whether the answer is only part of the document, and not emitted. */
  readonly isSilent?: boolean
  /** Whether `reply` is wanted, which takes memory; it is where the listener takes it. */
  readonly keepsReply?: boolean
}

export function beginAnswer(call: Call, facts: AnswerFacts, { folder, keepsResponse, strict }: TextPlan) {
  const { listener } = call
  const { command, model, answerSchema, isRest, isSilent, keepsReply } = facts
  const files: SavedFile[] = []
  const warnings: string[] = []
  let requestId: string | null = null
  let hasReplied = false
  let seen: ResponseState | null = null
  const warn = (message: string) => {
    warnings.push(message)
    listener.event({ type: 'warning-add', message })
  }
  const arrived: ImageData[] = []
  let images: ImageSaver | undefined
  const saveImages = async () => {
    // Most replies contain no image.
    images ??= (await import('./text-images.ts')).createImageSaver(call, folder, files, warn)
    await images.save(arrived.splice(0), decoder.result().response_id)
  }
  const decoder = facts.createDecoder({
    keepResponse: keepsResponse,
    keepText: keepsResponse || answerSchema !== undefined,
    keepReply: keepsReply || (listener.reply !== undefined && !isSilent),
    isRest: isRest === true,
    emit(event: TextEvent) {
      if (isSilent) return
      if (event.type !== 'image-data') listener.event(event)
      // The whole image follows a preview.
      else if (!event.partial) arrived.push(event)
    },
  })
  const document = (): TextDocument => {
    const {
      raw_finish_reason: _,
      finish_message: __,
      response_id: id,
      model: usedModel,
      ...result
    } = decoder.result()
    return {
      version: outputVersion,
      command,
      model: model ?? usedModel,
      ...result,
      extracted: null,
      cost: null,
      request_id: requestId,
      files,
      warnings,
      id: id ?? facts.id ?? null,
      state: result.state ?? seen,
    }
  }
  const reply = () => (hasReplied ? decoder.reply() : undefined)
  const receiver: TextReceiver = {
    raw: listener.raw,
    async flush() {
      if (arrived.length > 0) await saveImages()
      await listener.flush()
    },
    replied(id) {
      hasReplied = true
      requestId = id
    },
  }
  return {
    decoder,
    receiver,
    reply,
    warn,
    /** Reports the state of a response for which there is no answer yet that says so. */
    saw: (state: ResponseState) => void (seen = state),
    /** Checks an answer that has come whole. @throws ModelgateError for what is wrong with it */
    async finish(): Promise<void> {
      if (arrived.length > 0) await saveImages()
      const result = decoder.result()
      checkFinish(result, strict, warn)
      await answerSchema?.check(result.text)
      const hasWords = result.tool_calls.length > 0 || result.candidates.some(({ text }) => text !== '')
      const unsaved = images?.failure(hasWords)
      if (unsaved !== undefined) throw unsaved
    },
    settle(
      work: () => Promise<void>,
      amend: (error: ModelgateError) => ModelgateError,
    ): Promise<Outcome<TextDocument>> {
      const begin = async () => {
        listener.event({ type: 'start', version: outputVersion, command, model })
        for (const message of facts.warnings) warn(message)
        await work().finally(() => {
          const whole = reply()
          if (whole !== undefined) listener.reply?.(whole)
        })
      }
      // A failed write does not change that the answer was generated, and billed.
      return settle(call, begin, document, (error) =>
        amend(hasReplied && error.exit === 'io' ? error.amend({ billed: 'yes', ...error.facts }) : error),
      )
    },
  }
}

/** Generates text, of either style. Text is emitted as events while it arrives. */
export async function generateText(call: Call, request: TextRequest, plan: TextPlan) {
  const { gateway } = call
  const { talk, model } = request
  let { body } = request
  const run = beginAnswer(call, { ...request, keepsReply: talk !== undefined }, plan)
  const send = () =>
    streamText(gateway, textGatewayRequest(gateway, { ...request, body }), run.decoder, run.receiver)
  const work = async () => {
    await send().catch(async (error: unknown) => {
      const other = error instanceof ModelgateError ? await talk?.instead(error) : undefined
      if (other === undefined) throw error
      run.warn(other.note)
      body = other.body
      await send()
    })
    await run.finish()
  }
  const outcome = await run.settle(work, (error) => {
    const { remoteId } = error.facts
    if (error.exit !== 'running' || remoteId === undefined || plan.resume === undefined) return error
    return error.amend(leadTo('To wait for it: ', plan.resume(remoteId)))
  })
  if (talk === undefined) return outcome
  try {
    await talk.record({ model, body, reply: run.reply() }, outcome, call.redactor)
    return outcome
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    if (outcome.kind === 'ended' && outcome.failure === undefined) return { ...outcome, failure: error }
    run.warn(error.message)
    return outcome
  }
}

function checkFinish(
  { finish_reason: reason, raw_finish_reason: word }: TextResult,
  strict: boolean,
  warn: (message: string) => void,
): void {
  if (reason === 'unknown') {
    warn(`The gateway ended the answer with an unknown finish reason: ${word ?? 'none'}.`)
  }
  if (reason !== 'length') return
  const message = 'The answer was cut short by the token limit.'
  if (!strict) return warn(`${message} Raise --max-output-tokens for more.`)
  throw new ModelgateError('failed', 'finish_length', message, {
    phase: 'result',
    billed: 'yes',
    hint: 'Raise --max-output-tokens.',
  })
}
