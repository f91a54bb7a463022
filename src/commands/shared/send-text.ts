import { rescueFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { AlreadyReported, ModelgateError, UsageError, asModelgateError } from '../../errors.ts'
import type { SavedFile, TextDocument, TextEvent } from '../../events/text.ts'
import { outputVersion } from '../../events/schema.ts'
import type { TextFile } from '../../files/text-file.ts'
import { mintIdempotencyKey, endpointUrl } from '../../gateway/url.ts'
import type { GatewayRequest } from '../../gateway/gateway.ts'
import { jsonBody } from '../../gateway/send-request.ts'
import { streamText } from '../../gateway/stream-text.ts'
import type { DecoderOptions, TextDecoder } from '../../gateway/text-decoder.ts'
import { createOutput } from '../../output/create-output.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import type { AnswerSchema } from './answer-schema.ts'
import type { CommonOptions } from './common-options.ts'
import { isDryRun, printRequest } from './dry-run.ts'
import { openGateway, withBilling } from './open-gateway.ts'
import type { Body } from './request-body.ts'
import { createImageSaver } from './save-image.ts'

/** A text request, ready to be sent; what `generate` and `respond` differ in. */
export interface TextRequest {
  readonly command: 'generate' | 'respond'
  readonly model: string
  /** Path below the base URL. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body: Body
  readonly streamed: boolean
  /** What the answer must match, from `--schema`. */
  readonly answerSchema?: AnswerSchema | undefined
  readonly warnings: readonly string[]
  readonly createDecoder: (options: DecoderOptions) => TextDecoder
}

/** Sends a text request and shows the answer in the form that was asked for. */
export async function sendText(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  request: TextRequest,
): Promise<void> {
  let output: Output | undefined
  const { gateway, gate, hasSent, close } = await openGateway(
    context,
    options,
    settings,
    request.streamed,
    () => output,
  )
  const wire: GatewayRequest = {
    method: 'POST',
    url: endpointUrl(gateway.baseUrl, request.path, request.query),
    kind: 'text',
    accept: request.streamed ? 'text/event-stream' : 'application/json',
    contentType: 'application/json',
    idempotencyKey: mintIdempotencyKey(context.clock),
    body: jsonBody(request.body),
  }
  try {
    if (isDryRun(options))
      return await printRequest(context, options, { gateway, gate }, wire, { body: request.body })
    const file = await openOutputFile(context, options)
    output = createOutput(context, {
      mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
      quiet: settings.quiet.value,
      usage: options.usage === true,
      file,
      gate,
      rescue: { folder: rescueFolder(context), name: `${request.command}.txt` },
    })
    await receive(context, options, request, {
      output,
      gateway,
      gate,
      hasSent,
      wire,
      folder: settings.outputDir.value ?? '.',
    })
  } catch (error) {
    throw withBilling(error, hasSent(), options.debug === true)
  } finally {
    await close()
  }
}

/** Files are loaded only by who writes one: hashing alone costs milliseconds at the start. */
async function openOutputFile(
  context: Context,
  { output, force }: CommonOptions,
): Promise<TextFile | undefined> {
  // `-` is standard output, as everywhere.
  if (output === undefined || output === '-') return undefined
  const { openTextFile } = await import('../../files/text-file.ts')
  return openTextFile(context, output, { force: force === true, rescueFolder: rescueFolder(context) })
}

interface Receiving {
  readonly output: Output
  readonly gateway: Parameters<typeof streamText>[0]
  readonly gate: Gate
  readonly hasSent: () => boolean
  readonly wire: GatewayRequest
  readonly folder: string
}

async function receive(
  context: Context,
  options: CommonOptions,
  request: TextRequest,
  { output, gateway, gate, hasSent, wire, folder }: Receiving,
): Promise<void> {
  const { command, model } = request
  const files: SavedFile[] = []
  const warnings: string[] = []
  let requestId: string | null = null
  let hasReplied = false
  const warn = (message: string) => {
    warnings.push(message)
    output.event({ type: 'warning-add', message })
  }
  const images = createImageSaver(
    context,
    folder,
    () => idForNames(decoder.result().response_id, gate),
    (saved) => {
      files.push(saved)
      output.event({ type: 'file-save', file: saved })
    },
    warn,
  )
  const hasDocument = options.json === true || options.jsonl === true
  const decoder = request.createDecoder({
    keepResponse: hasDocument,
    keepText: hasDocument || request.answerSchema !== undefined,
    emit(event: TextEvent) {
      if (event.type === 'image-data') images.add(event)
      else output.event(event)
    },
  })
  const document = (): TextDocument => {
    const {
      raw_finish_reason: _,
      finish_message: __,
      response_id: ___,
      model: ____,
      ...result
    } = decoder.result()
    return { version: outputVersion, command, model, ...result, request_id: requestId, files, warnings }
  }
  try {
    output.event({ type: 'start', version: outputVersion, command, model })
    for (const message of request.warnings) warn(message)
    await streamText(gateway, wire, decoder, {
      raw: options.raw ? (text) => output.raw(text) : undefined,
      async flush() {
        await images.saved()
        await output.flush()
      },
      replied(id) {
        hasReplied = true
        requestId = id
      },
    })
    await images.saved()
    const unsaved = images.failure(hasWords(decoder))
    await finish(options, decoder, request.answerSchema, warn)
    if (unsaved !== undefined) throw unsaved
    await output.end(document())
  } catch (error) {
    const known = withBilling(asModelgateError(error, options.debug === true), hasSent())
    // What cannot be written has been generated all the same.
    const told = hasReplied && known.exit === 'io' ? known.supplying({ billed: 'yes' }) : known
    await output.error(withRequestId(told, requestId), document())
    throw new AlreadyReported(known)
  }
}

/** An id as a part of file names. */
function idForNames(id: string | null, gate: Gate): string | null {
  return id === null ? null : gate.text(id)
}

/** Whether a reply is more than its images. */
function hasWords(decoder: TextDecoder): boolean {
  const { candidates, tool_calls: calls } = decoder.result()
  return calls.length > 0 || candidates.some(({ text }) => text !== '')
}

/** What is still to be judged when the whole answer is there. */
async function finish(
  options: CommonOptions,
  decoder: TextDecoder,
  answer: AnswerSchema | undefined,
  warn: (message: string) => void,
): Promise<void> {
  const result = decoder.result()
  if (result.finish_reason === 'length') {
    const message = 'The answer was cut short by the token limit.'
    if (options.strict)
      throw new ModelgateError('failed', 'finish_length', message, {
        phase: 'result',
        billed: 'yes',
        hint: 'Raise --max-output-tokens.',
      })
    warn(`${message} Raise --max-output-tokens for more.`)
  } else if (result.finish_reason === 'unknown') {
    warn(
      `The gateway ended the answer with a word that is not known here: ${result.raw_finish_reason ?? 'none'}.`,
    )
  }
  await answer?.check(result.text)
}

function withRequestId(error: ModelgateError, requestId: string | null): ModelgateError {
  return requestId === null || error instanceof UsageError ? error : error.supplying({ requestId })
}
