import { ModelgateError } from '../errors.ts'
import { outputVersion } from '../events/output-schema.ts'
import type { SavedFile, TextDocument, TextEvent } from '../events/text.ts'
import type { Gateway, GatewayRequest } from '../gateway/gateway.ts'
import { jsonRequest } from '../gateway/send-request.ts'
import { streamText, type DecoderOptions, type TextDecoder } from '../gateway/stream-text.ts'
import { mintIdempotencyKey } from '../gateway/url.ts'
import type { AnswerSchema } from './answer-schema.ts'
import { settle, type Body, type Call, type Outcome } from './operation.ts'
import { createImageSaver, type ImageData, type ImageSaver } from './text-images.ts'

/** A validated text request, of either style. */
export interface TextRequest {
  readonly command: 'generate' | 'respond'
  /** The requested model; null when the gateway chooses. */
  readonly model: string | null
  /** Path below the base URL. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body: Body
  readonly streamed: boolean
  /** The schema that the answer must match. */
  readonly answerSchema?: AnswerSchema | undefined
  readonly warnings: readonly string[]
  readonly createDecoder: (options: DecoderOptions) => TextDecoder
}

interface TextPlan {
  /** The folder for images in the reply. */
  readonly folder: string
  /** Whether the document contains the whole text and the gateway's own response, which takes memory. */
  readonly keepsResponse: boolean
  /** Whether an answer cut short by the token limit is a failure. */
  readonly strict: boolean
}

/** The request as it goes over the wire. */
export function textGatewayRequest(
  gateway: Gateway,
  { path, query, body, streamed }: TextRequest,
): GatewayRequest {
  const idempotencyKey = mintIdempotencyKey(gateway.clock)
  return jsonRequest(gateway, path, { kind: 'text', query, body, streamed, idempotencyKey })
}

/** Generates text, of either style (specification, endpoints 1 and 2). Text is emitted as events while it arrives. */
export async function generateText(
  call: Call,
  request: TextRequest,
  { folder, keepsResponse, strict }: TextPlan,
): Promise<Outcome<TextDocument>> {
  const { gateway, listener, redactor } = call
  const { command, model, answerSchema } = request
  const files: SavedFile[] = []
  const warnings: string[] = []
  let requestId: string | null = null
  let hasReplied = false
  const warn = (message: string) => {
    warnings.push(message)
    listener.event({ type: 'warning-add', message })
  }
  // Loaded on demand: most replies contain no image.
  let images: ImageSaver | undefined
  const saveImage = (image: ImageData) => {
    images ??= createImageSaver(call, {
      folder,
      responseId() {
        const { response_id: id } = decoder.result()
        return id === null ? null : redactor.text(id)
      },
      onSaved(file) {
        files.push(file)
        listener.event({ type: 'file-save', file })
      },
      onWarning: warn,
    })
    images.add(image)
  }
  const decoder = request.createDecoder({
    keepResponse: keepsResponse,
    keepText: keepsResponse || answerSchema !== undefined,
    emit(event: TextEvent) {
      if (event.type === 'image-data') saveImage(event)
      else listener.event(event)
    },
  })
  const document = (): TextDocument => {
    const {
      raw_finish_reason: _,
      finish_message: __,
      response_id: ___,
      model: usedModel,
      ...result
    } = decoder.result()
    return {
      version: outputVersion,
      command,
      model: model ?? usedModel,
      ...result,
      request_id: requestId,
      files,
      warnings,
    }
  }
  const work = async () => {
    listener.event({ type: 'start', version: outputVersion, command, model })
    for (const message of request.warnings) warn(message)
    await streamText(gateway, textGatewayRequest(gateway, request), decoder, {
      raw: listener.raw,
      async flush() {
        await images?.saved()
        await listener.flush()
      },
      replied(id) {
        hasReplied = true
        requestId = id
      },
    })
    await images?.saved()
    checkFinish(decoder, strict, warn)
    await answerSchema?.check(decoder.result().text)
    const unsaved = images?.failure(hasWords(decoder))
    if (unsaved !== undefined) throw unsaved
    return undefined
  }
  return settle(call, work, document, (error) =>
    // A failed write does not change that the answer was generated, and billed.
    hasReplied && error.exit === 'io' ? error.amend({ billed: 'yes', ...error.facts }) : error,
  )
}

/** Whether a reply contains anything besides images. */
function hasWords(decoder: TextDecoder): boolean {
  const { candidates, tool_calls: calls } = decoder.result()
  return calls.length > 0 || candidates.some(({ text }) => text !== '')
}

/** An answer cut short by the token limit is a result with a warning, or with `strict` a failure. */
function checkFinish(decoder: TextDecoder, strict: boolean, warn: (message: string) => void): void {
  const { finish_reason: reason, raw_finish_reason: word } = decoder.result()
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
