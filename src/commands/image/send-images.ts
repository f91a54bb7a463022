import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { AlreadyReported, asModelgateError } from '../../errors.ts'
import { mintIdempotencyKey, endpointUrl } from '../../gateway/url.ts'
import type { GatewayRequest } from '../../gateway/gateway.ts'
import { relayReply } from '../../gateway/images/receive-images.ts'
import { jsonBody } from '../../gateway/send-request.ts'
import { createOutput } from '../../output/create-output.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { isDryRun, printRequest, type ShownPart } from '../shared/dry-run.ts'
import { openGateway, withBilling } from '../shared/open-gateway.ts'
import type { ImageOptions } from './image-options.ts'
import type { ImageRequest } from './image-request.ts'
import { receiveIntoFiles, type Sending } from './receive-into-files.ts'
import { reportExisting } from './report-existing.ts'
import type { RequestBody } from '../../gateway/exchange.ts'
import { multipartBody } from '../../gateway/multipart.ts'
import type { ImageSource } from './sources.ts'

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
  const stream = gate.reply()
  let last = 0
  const finish = () => {
    stdout.write(stream.end())
    if (last !== 0x0a) stdout.write('\n')
  }
  try {
    await relayReply(gateway, wire, {
      async pass(chunk) {
        stdout.write(stream.push(chunk))
        last = chunk.at(-1) ?? last
        await stdout.drain()
      },
    })
    finish()
    await stdout.drain()
  } catch (error) {
    finish()
    const known = withBilling(asModelgateError(error, gateway.trace !== undefined), hasSent())
    await output.error(known)
    throw new AlreadyReported(known)
  }
}

/** The body of an image request as it is sent, and as a dry run shows it. */
interface Upload extends Required<Pick<GatewayRequest, 'body' | 'contentType'>> {
  readonly shown: { readonly body: unknown } | { readonly parts: readonly ShownPart[] }
}

/** JSON for a creation, multipart for an edit (specification, endpoints 4 and 6). */
function createUpload({ command, body, images, mask }: ImageRequest): Upload {
  if (command === 'image create') {
    return { body: jsonBody(body), contentType: 'application/json', shown: { body } }
  }
  // One picture is `image`, several are `image[]` (wire notes, "Images").
  const name = images.length === 1 ? 'image' : 'image[]'
  const files: [string, ImageSource][] = [
    ...images.map((image): [string, ImageSource] => [name, image]),
    ...(mask === undefined ? [] : [['mask', mask] as [string, ImageSource]]),
  ]
  const fields = Object.entries(body)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([field, value]) => ({
      name: field,
      value: typeof value === 'object' ? JSON.stringify(value) : String(value),
    }))
  const parts = files.map(([field, source]) => ({
    name: field,
    fileName: source.fileName,
    mediaType: source.mediaType,
    size: source.bytes,
    open: source.open,
  }))
  const shownFiles = files.map(([field, source]) => ({
    name: field,
    path: source.label,
    file_name: source.fileName,
    media_type: source.mediaType,
    bytes: source.bytes,
  }))
  return { ...multipartBody([...fields, ...parts]), shown: { parts: [...fields, ...shownFiles] } }
}

/** Counts what has been handed over. A request that is sent again starts anew. */
function withProgress(body: RequestBody, report: (sent: number, total: number) => void): RequestBody {
  return {
    length: body.length,
    async *chunks() {
      let sent = 0
      for await (const chunk of body.chunks()) {
        yield chunk
        sent += chunk.length
        report(sent, body.length)
      }
    },
  }
}
