import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

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

/** What a gateway answers that gives the key back in all it says but the words, images and videos themselves. */
export interface EchoGateway {
  readonly url: string
}

/** A gateway for one test. @param write how it writes the key */
export async function echoGateway(write: (key: string) => string, failure: Failure): Promise<EchoGateway> {
  const server = createServer((request, response) => {
    void answer(
      request,
      response,
      write,
      failure,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const keys = new Map<string, string>()

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  write: (key: string) => string,
  failure: Failure,
  origin: string,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const path = request.url ?? ''
  const isStreamed = path.includes('alt=sse') || Buffer.concat(chunks).includes('"stream":true')
  const bearer = request.headers.authorization?.replace('Bearer ', '')
  const key = bearer ?? keys.get(origin) ?? ''
  keys.set(origin, key)
  const echo = write(key)
  for (const name of ['x-request-id', 'server', 'x-echo', 'set-cookie', 'x-api-key', 'warning']) {
    response.setHeader(name, echo)
  }
  if (path.startsWith('/media/')) {
    const isImage = path.startsWith('/media/image')
    response.setHeader('content-type', isImage ? 'image/png' : 'video/mp4')
    return void response.end(isImage ? pngBytes({ width: 2, height: 1 }) : mp4Bytes())
  }
  response.setHeader('openai-poll-after-ms', '100')
  if (failure === 'refused') {
    response.statusCode = 400
    return send(response, { error: { message: `Got ${echo}`, code: echo, type: echo, param: echo } })
  }
  const body = replyTo(path, { echo, failure, origin })
  if (!isStreamed) return send(response, body)
  response.setHeader('content-type', 'text/event-stream')
  response.end(
    framesOf(path, body)
      .map((value) => `data: ${JSON.stringify(value)}\n\n`)
      .join(''),
  )
}

function send(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(value))
}

function framesOf(path: string, body: object): object[] {
  if (path.includes('/responses')) {
    const { id } = body as { id: string }
    return [
      { type: 'response.created', response: { ...body, status: 'in_progress', output: [] } },
      // A key that the model thinks of in pieces, none of which tells what it is a piece of.
      ...(id.match(/.{1,9}/g) ?? []).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'r',
        output_index: 0,
        summary_index: 0,
        delta,
      })),
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Yes.' },
      { type: 'response.completed', response: body },
    ]
  }
  if (!path.includes('/images/')) return [body]
  const { data } = body as { data: object[] }
  return data.map((image) => ({ type: 'image_generation.completed', ...image }))
}

interface Facts {
  readonly echo: string
  readonly failure: Failure
  readonly origin: string
}

function replyTo(path: string, { echo, failure, origin }: Facts): object {
  const isFailed = failure === 'failed'
  if (path.includes('/images/')) {
    const image =
      failure === 'urls'
        ? { url: `${origin}/media/image?signature=${encodeURIComponent(echo)}` }
        : { b64_json: isFailed ? `!${echo}` : pngBytes({ width: 2, height: 1 }).toString('base64') }
    return {
      created: 1,
      id: echo,
      model: echo,
      data: [{ ...image, revised_prompt: echo }],
      usage: { note: echo },
    }
  }
  if (path.includes('generateContent') || path.includes('streamGenerateContent')) {
    const parts = [
      { text: 'Yes.' },
      { functionCall: { name: echo, args: { given: echo, [echo]: 1 } } },
      { executableCode: { language: echo, code: echo } },
      { inlineData: { mimeType: 'image/png', data: pngBytes({ width: 2, height: 1 }).toString('base64') } },
    ]
    return {
      responseId: echo,
      modelVersion: echo,
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts },
          finishReason: isFailed ? echo : 'STOP',
          finishMessage: echo,
          citationMetadata: { citationSources: [{ uri: `https://host/${echo}`, title: echo }] },
          safetyRatings: [{ category: echo, probability: echo }],
        },
      ],
    }
  }
  if (path.includes('/responses')) {
    const content = [
      { type: 'output_text', text: 'Yes.', annotations: [{ type: 'url_citation', url: echo, title: echo }] },
    ]
    return {
      id: echo,
      object: 'response',
      model: echo,
      status: isFailed ? 'failed' : 'completed',
      error: isFailed ? { code: echo, message: echo } : null,
      output: [
        { type: 'message', id: 'm', role: 'assistant', content },
        {
          type: 'function_call',
          id: echo,
          call_id: echo,
          name: echo,
          arguments: JSON.stringify({ given: echo }),
        },
        { type: 'web_search_call', id: echo, status: echo, action: { query: echo } },
      ],
      metadata: { [echo]: echo },
    }
  }
  return jobReply(path, { echo, failure, origin })
}

function jobReply(path: string, { echo, failure, origin }: Facts): object {
  const word = echo.replaceAll(/[^\w-]/g, '')
  const url = `${origin}/media/video?signature=${encodeURIComponent(echo)}`
  if (path.includes('/videos')) {
    return {
      id: `video_${word}`,
      object: 'video',
      model: echo,
      status: path.endsWith('/remix') ? 'queued' : failure === 'failed' ? 'failed' : 'completed',
      error: failure === 'failed' ? { code: echo, message: echo } : null,
      url,
      note: echo,
    }
  }
  const name = path.includes(':predictLongRunning')
    ? `models/veo/operations/op-${word}`
    : path.slice('/v1beta/'.length)
  if (path.includes(':predictLongRunning')) return { name, metadata: { note: echo } }
  return {
    name,
    metadata: { note: echo },
    done: true,
    ...(failure === 'failed'
      ? { error: { code: 3, message: echo, status: echo } }
      : { response: { generateVideoResponse: { generatedSamples: [{ video: { uri: url } }] } } }),
  }
}
