import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { Ended, asModelgateError } from '../../errors.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import { mintIdempotencyKey } from '../../gateway/idempotency-key.ts'
import type { GatewayRequest } from '../../gateway/gateway.ts'
import { brokenError, sendRequest } from '../../gateway/send-request.ts'
import { endpointUrl } from '../../gateway/url.ts'
import { createOutput } from '../../output/create-output.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { isDryRun, printRequest } from '../shared/dry-run.ts'
import { openGateway } from '../shared/open-gateway.ts'
import { withBilling } from '../shared/with-billing.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageRequest } from './image-request.ts'
import { receiveIntoFiles, type Sending } from './receive-into-files.ts'
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
  const newOutput = (gate?: Gate) =>
    createOutput(context, {
      mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
      result: 'files',
      quiet: settings.quiet.value,
      usage: options.usage === true,
      gate,
    })
  if (request.wanted.length === 0) return reportExisting(context, request, newOutput())
  const { gateway, gate, hasSent, close } = await openGateway(
    context,
    options,
    settings,
    streamed,
    () => output,
  )
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
    if (isDryRun(options)) return await printRequest(context, options, { gateway, gate }, wire, upload.shown)
    output = newOutput(gate)
    if (options.raw) await passOn(context, { gateway, gate, hasSent, wire, output })
    else await receiveIntoFiles(context, options, request, { gateway, gate, hasSent, wire, output })
  } catch (error) {
    throw withBilling(error, hasSent(), options.debug === true)
  } finally {
    await close()
  }
}

/** `--raw`: the reply's own bytes on standard output, but for secrets, and no file. */
async function passOn({ stdout }: Context, { gateway, gate, hasSent, wire, output }: Sending): Promise<void> {
  try {
    const reply = await sendRequest(gateway, wire)
    const stream = gate.reply()
    let last = 0
    for await (const chunk of reply.body) {
      stdout.write(stream.push(chunk))
      last = chunk.at(-1) ?? last
      await stdout.drain()
    }
    stdout.write(stream.end())
    if (last !== 0x0a) stdout.write('\n')
    await stdout.drain()
  } catch (error) {
    const broken = error instanceof ExchangeError ? brokenError(error, wire.kind) : error
    const known = withBilling(asModelgateError(broken, gateway.trace !== undefined), hasSent())
    await output.error(known)
    throw new Ended(known)
  }
}
