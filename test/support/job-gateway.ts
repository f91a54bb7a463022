import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenForTest } from './local-server.ts'

/** What a gateway sees of a job, in order. */
export const moments = [
  /** The head of the POST has come. */
  'post-begun',
  'post-received',
  /** The name of the job has been sent, and the end of the reply has not. */
  'name-sent',
  'post-answered',
  'first-look-up',
  'second-look-up',
  'completion-told',
  'video-asked',
  'video-begun',
  'video-half',
  'video-sent',
] as const
export type Moment = (typeof moments)[number]

export type JobGateway = Awaited<ReturnType<typeof jobGateway>>

interface JobGatewayOptions {
  /** The video of the job with this number, from 0. */
  readonly film: (job: number) => Buffer
  /** The exchange stops the first time that this happens, until `goOn`. */
  readonly stopAt?: Moment
  /** How many look-ups say that a job is running. */
  readonly lookUps?: number
}

/** A program asks again as soon as it ever does, so that a test need not take the time that a job takes. */
const jsonHeaders = { 'content-type': 'application/json', 'openai-poll-after-ms': '100' }

/** A gateway for one test, on which jobs run. A job is told to be done with its third look-up, unless told. */
export async function jobGateway({ film, stopAt, lookUps = 2 }: JobGatewayOptions) {
  /** Idempotency keys of the POSTs that have begun. */
  const asked: string[] = []
  /** Those that came whole: each is a job that costs money. */
  const created: string[] = []
  const seen: Moment[] = []
  const looked = new Map<string, number>()
  const { promise: isResumed, resolve: goOn } = Promise.withResolvers<void>()

  const reach = async (moment: Moment): Promise<void> => {
    const isFirst = !seen.includes(moment)
    seen.push(moment)
    if (isFirst && moment === stopAt) await isResumed
  }
  const answer = (response: ServerResponse, value: unknown) =>
    new Promise<void>((resolve) => {
      response.writeHead(200, jsonHeaders)
      response.end(JSON.stringify(value), resolve)
    })
  const send = (response: ServerResponse, bytes: string | Buffer) =>
    new Promise<void>((resolve) => void response.write(bytes, () => resolve()))

  async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key'])
    asked.push(key)
    await reach('post-begun')
    for await (const _ of request);
    const text = JSON.stringify({ name: `models/veo/operations/op${created.length}`, metadata: {} })
    created.push(key)
    await reach('post-received')
    const half = text.indexOf(',')
    response.writeHead(200, { ...jsonHeaders, 'content-length': text.length })
    await send(response, text.slice(0, half))
    await reach('name-sent')
    await new Promise<void>((resolve) => void response.end(text.slice(half), resolve))
    await reach('post-answered')
  }
  async function lookUp(name: string, response: ServerResponse): Promise<void> {
    const count = (looked.get(name) ?? 0) + 1
    looked.set(name, count)
    if (count === 1) await reach('first-look-up')
    if (count === 2) await reach('second-look-up')
    if (count <= lookUps) return answer(response, { name })
    const uri = `/films/${name.split('/').at(-1)}`
    const generateVideoResponse = { generatedSamples: [{ video: { uri } }] }
    await answer(response, { name, done: true, response: { generateVideoResponse } })
    await reach('completion-told')
  }
  async function serve(job: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    await reach('video-asked')
    const bytes = film(job)
    const { range } = request.headers
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    response.writeHead(range === undefined ? 200 : 206, {
      'content-type': 'video/mp4',
      'content-length': bytes.length - start,
      etag: `"${job}"`,
      ...(range !== undefined && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    })
    const half = Math.max(start + 100, Math.floor(bytes.length / 2))
    await send(response, bytes.subarray(start, start + 100))
    await reach('video-begun')
    await send(response, bytes.subarray(start + 100, half))
    await reach('video-half')
    await send(response, bytes.subarray(half))
    response.end()
    await reach('video-sent')
  }
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const film = /^\/films\/op(\d+)$/.exec(path)
    const done =
      request.method === 'POST'
        ? create(request, response)
        : film === null
          ? lookUp(path.replace('/v1beta/', ''), response)
          : serve(Number(film[1]), request, response)
    // A client that was killed in the middle of its request is what these tests are about.
    done.catch(() => {})
  })
  return { url: await listenForTest(server), asked, created, seen, goOn }
}
