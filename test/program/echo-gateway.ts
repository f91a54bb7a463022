import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import type { TestOverrides } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { startProgram } from './start-program.ts'

/** The ways in which services write a key that they should not have written. */
export const spellings: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  'percent-encoded': encodeURIComponent,
  base64: (key) => Buffer.from(`Bearer ${key}`).toString('base64'),
  'base64, one on': (key) => Buffer.from(`x${key}xy`).toString('base64'),
  base64url: (key) => Buffer.from(key).toString('base64url'),
  hex: (key) => Buffer.from(key).toString('hex'),
  HEX: (key) => Buffer.from(key).toString('hex').toUpperCase(),
  'first 16 characters': (key) => `${key.slice(0, 16)}...`,
  'escaped as in JSON': (key) =>
    [...key].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
}

export type Failure = 'none' | 'refused' | 'failed' | 'urls'

const png = pngBytes({ width: 2, height: 1 })
const base64 = png.toString('base64')

/**
 * A machine for one test, whose gateway gives the key back in all it says but the words, images and videos themselves.
 * @param write how it writes the key
 */
export async function echoMachine(write: (key: string) => string, failure: Failure, more: TestOverrides) {
  const gateway = await echoGateway(write, failure)
  const home = temporaryFolder()
  const cwd = join(home, 'work')
  mkdirSync(cwd)
  writeFiles(cwd, { 'in.png': png })
  const env = { HOME: home, MODELGATE_BASE_URL: gateway.url, ...more.env }
  return {
    home,
    cwd,
    /** Runs one command to its end; every wait passes at once. */
    async run(argv: readonly string[], own: TestOverrides) {
      const { context, passWaits } = startProgram(argv, { home, cwd, env, ...own })
      return { code: await passWaits(), out: context.stdout, err: context.stderr }
    },
  }
}

/** Such a gateway alone. */
export async function echoGateway(write: (key: string) => string, failure: Failure) {
  let key = ''
  const server = createServer(async (request, response) => {
    const isStreamed = (await textOf(request)).includes('"stream":true') || request.url!.includes('alt=sse')
    key = request.headers.authorization?.replace('Bearer ', '') ?? key
    answer(request, response, isStreamed, { echo: write(key), failure, origin: url })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url }
}

interface Facts {
  readonly echo: string
  readonly failure: Failure
  readonly origin: string
}

function answer(request: IncomingMessage, response: ServerResponse, isStreamed: boolean, facts: Facts): void {
  const { echo, failure } = facts
  const path = request.url!
  for (const name of ['x-request-id', 'server', 'x-echo', 'set-cookie', 'x-api-key', 'warning']) {
    response.setHeader(name, echo)
  }
  const send = (type: string, body: string | Uint8Array) =>
    void response.setHeader('content-type', type).end(body)
  if (path.startsWith('/media/image')) return send('image/png', png)
  if (path.startsWith('/media/')) return send('video/mp4', mp4Bytes())
  response.setHeader('openai-poll-after-ms', '100')
  if (failure === 'refused') {
    response.statusCode = 400
    const error = { message: `Got ${echo}`, code: echo, type: echo, param: echo }
    return send('application/json', JSON.stringify({ error }))
  }
  const body = replyTo(path, facts)
  if (!isStreamed) return send('application/json', JSON.stringify(body))
  const frames = framesOf(path, body).map((value) => `data: ${JSON.stringify(value)}\n\n`)
  send('text/event-stream', frames.join(''))
}

function framesOf(path: string, body: object): object[] {
  if (path.includes('/responses')) {
    const { id } = body as { id: string }
    const place = { output_index: 0, summary_index: 0, content_index: 0 }
    return [
      { type: 'response.created', response: { ...body, status: 'in_progress', output: [] } },
      // A key that the model thinks of in pieces, none of which tells what it is a piece of.
      ...(id.match(/.{1,9}/g) ?? []).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'r',
        ...place,
        delta,
      })),
      { type: 'response.output_text.delta', item_id: 'm', ...place, delta: 'Yes.' },
      { type: 'response.completed', response: body },
    ]
  }
  if (!path.includes('/images/')) return [body]
  const { data } = body as { data: object[] }
  return data.map((image) => ({ type: 'image_generation.completed', ...image }))
}

function replyTo(path: string, facts: Facts): object {
  const { echo, failure, origin } = facts
  const isFailed = failure === 'failed'
  if (path.includes('/images/')) {
    const image =
      failure === 'urls'
        ? { url: `${origin}/media/image?signature=${encodeURIComponent(echo)}` }
        : { b64_json: isFailed ? `!${echo}` : base64 }
    const data = [{ ...image, revised_prompt: echo }]
    return { created: 1, id: echo, model: echo, data, usage: { note: echo } }
  }
  if (path.includes('enerateContent')) {
    const parts = [
      { text: 'Yes.' },
      { functionCall: { name: echo, args: { given: echo, [echo]: 1 } } },
      { executableCode: { language: echo, code: echo } },
      { inlineData: { mimeType: 'image/png', data: base64 } },
    ]
    const candidate = {
      index: 0,
      content: { role: 'model', parts },
      finishReason: isFailed ? echo : 'STOP',
      finishMessage: echo,
      citationMetadata: { citationSources: [{ uri: `https://host/${echo}`, title: echo }] },
      safetyRatings: [{ category: echo, probability: echo }],
    }
    return { responseId: echo, modelVersion: echo, candidates: [candidate] }
  }
  if (!path.includes('/responses')) return jobReply(path, facts)
  const annotations = [{ type: 'url_citation', url: echo, title: echo }]
  const content = [{ type: 'output_text', text: 'Yes.', annotations }]
  const call = { id: echo, call_id: echo, name: echo, arguments: JSON.stringify({ given: echo }) }
  return {
    id: echo,
    object: 'response',
    model: echo,
    status: isFailed ? 'failed' : 'completed',
    error: isFailed ? { code: echo, message: echo } : null,
    output: [
      { type: 'message', id: 'm', role: 'assistant', content },
      { type: 'function_call', ...call },
      { type: 'web_search_call', id: echo, status: echo, action: { query: echo } },
    ],
    metadata: { [echo]: echo },
  }
}

function jobReply(path: string, { echo, failure, origin }: Facts): object {
  const word = echo.replaceAll(/[^\w-]/g, '')
  const url = `${origin}/media/video?signature=${encodeURIComponent(echo)}`
  const isFailed = failure === 'failed'
  const metadata = { note: echo }
  if (path.includes('/videos')) {
    const status = path.endsWith('/remix') ? 'queued' : isFailed ? 'failed' : 'completed'
    const error = isFailed ? { code: echo, message: echo } : null
    return { id: `video_${word}`, object: 'video', model: echo, status, error, url, note: echo }
  }
  if (path.includes(':predictLongRunning')) return { name: `models/veo/operations/op-${word}`, metadata }
  const response = { generateVideoResponse: { generatedSamples: [{ video: { uri: url } }] } }
  const outcome = isFailed ? { error: { code: 3, message: echo, status: echo } } : { response }
  return { name: path.slice('/v1beta/'.length), metadata, done: true, ...outcome }
}
