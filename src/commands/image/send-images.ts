import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { Ended, asModelgateError } from '../../errors.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import { mintIdempotencyKey } from '../../gateway/idempotency-key.ts'
import type { Gateway, GatewayRequest } from '../../gateway/gateway.ts'
import { brokenError, sendRequest } from '../../gateway/send-request.ts'
import { endpointUrl } from '../../gateway/url.ts'
import { createOutput } from '../../output/create-output.ts'
import type { Output } from '../../output/output.ts'
import { isDryRun, printRequest } from '../shared/dry-run.ts'
import { openGateway } from '../shared/open-gateway.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageRequest } from './image-request.ts'
import { receiveIntoFiles } from './receive-into-files.ts'
import { reportExisting } from './report-existing.ts'
import { createUpload, withProgress } from './upload.ts'

/** Uploads shorter than this need no progress. */
const progressFromBytes = 1_000_000

/** Sends a request for images and saves what comes. */
export async function sendImages(
  context: Context,
  options: ImageOptions,
  settings: Settings,
  request: ImageRequest,
): Promise<void> {
  let output: Output | undefined
  const streamed = request.body['stream'] === true
  const newOutput = (secrets: readonly string[]) =>
    createOutput(context, {
      mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
      result: 'files',
      quiet: settings.quiet.value,
      usage: options.usage === true,
      secrets,
    })
  if (request.wanted.length === 0) return reportExisting(context, request, newOutput([]))
  const { gateway, close } = await openGateway(context, options, settings, streamed, () => output)
  const upload = createUpload(request)
  const wire: GatewayRequest = {
    method: 'POST',
    url: endpointUrl(gateway.baseUrl, request.endpoint.path),
    kind: 'create',
    accept: streamed ? 'text/event-stream' : 'application/json',
    contentType: upload.contentType,
    idempotencyKey: mintIdempotencyKey(context.clock),
    body:
      upload.body.length < progressFromBytes
        ? upload.body
        : withProgress(upload.body, (sent, total) => output?.event({ type: 'upload-progress', sent, total })),
  }
  try {
    if (isDryRun(options)) return await printRequest(context, options, gateway, wire, upload.shown)
    output = newOutput([gateway.key])
    if (options.raw) await passOn(context, gateway, wire, output)
    else await receiveIntoFiles(context, options, request, { gateway, wire, output })
  } finally {
    await close()
  }
}

/** `--raw`: the reply's own bytes on standard output, and no file. */
async function passOn(
  context: Context,
  gateway: Gateway,
  wire: GatewayRequest,
  output: Output,
): Promise<void> {
  try {
    const reply = await sendRequest(gateway, wire)
    let last = 0
    for await (const chunk of reply.body) {
      context.stdout.write(chunk)
      last = chunk.at(-1) ?? last
      await context.stdout.drain()
    }
    if (last !== 0x0a) context.stdout.write('\n')
    await context.stdout.drain()
  } catch (error) {
    const broken = error instanceof ExchangeError ? brokenError(error, wire.kind) : error
    const known = asModelgateError(broken, gateway.trace !== undefined)
    await output.error(known)
    throw new Ended(known)
  }
}
