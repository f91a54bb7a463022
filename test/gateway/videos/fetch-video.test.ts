import { describe, expect, test } from 'vitest'
import { FileError, Interrupted, ModelgateError } from '../../../src/errors.ts'
import type { Network } from '../../../src/gateway/download/url-policy.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import {
  createVideoFetcher,
  createVideoDownload,
  type FetchVideoOptions,
  type VideoSource,
  type VideoSources,
} from '../../../src/gateway/videos/fetch-video.ts'
import type { JobReport } from '../../../src/gateway/videos/job-fields.ts'
import { closedPort, localServer, type LocalServer } from '../../support/local-server.ts'
import {
  head,
  json,
  readAll,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { testGateway, until } from '../test-gateway.ts'
import { now, readOperation, operationName, readVideo, videoId } from './job-facts.ts'

/** Hosts of the tests: all are reached at this machine, whatever their addresses are. */
const addresses: Readonly<Record<string, string>> = {
  'gateway.test': '93.184.216.34',
  'cdn.test': '93.184.216.35',
  'internal.test': '10.0.0.7',
  'rebinding.test': '127.0.0.1',
}
const network: Network = {
  resolve: async (host) => [{ address: addresses[host] ?? '127.0.0.1', family: 4 }],
  reach: () => ({ address: '127.0.0.1', family: 4 }),
}

const key = 'Bearer test-key-0123456789'
const at = (host: string, { port }: Pick<LocalServer, 'port'>, path = '/a.mp4?sig=s3cret') =>
  `http://${host}:${port}${path}`

const clip = '\0\0\0\x20ftypisom and a paper boat'
const mp4 = { headers: { 'content-type': 'video/mp4' } }
const video = text(clip, mp4)
const moved = (location: string, body = '') => text(body, { status: 302, headers: { location } })

const content: VideoSource = { kind: 'content', from: `/v1/videos/${videoId}/content` }
const url = (address: string): VideoSource => ({ kind: 'url', from: address })
const sample = (...sources: VideoSource[]): VideoSources => sources

interface Fetched {
  readonly outcome: string
  readonly content: string
  readonly error: ModelgateError | undefined
}

function collector() {
  const chunks: Buffer[] = []
  return {
    write: async (bytes: Uint8Array) => void chunks.push(Buffer.from(bytes)),
    restart: async () => void chunks.splice(0),
    get text() {
      return Buffer.concat(chunks).toString('latin1')
    },
  }
}

async function fetched(run: (writer: ReturnType<typeof collector>) => Promise<boolean>): Promise<Fetched> {
  const writer = collector()
  try {
    return { outcome: (await run(writer)) ? 'framed' : 'not framed', content: writer.text, error: undefined }
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    return { outcome: `${error.exitCode} ${error.code}`, content: writer.text, error }
  }
}

const fetchInto = (gateway: Gateway, from: VideoSources, options: FetchVideoOptions = {}) =>
  fetched((writer) => createVideoDownload(gateway, writer, { network, ...options })(from))

const whole = { outcome: 'framed', content: clip }

describe('the key', () => {
  test('goes along to the content, and over every hop on the same host', async () => {
    const body = JSON.stringify({ error: { code: 302, message: 'Unknown Error.', status: 'UNKNOWN' } })
    const server = await localServer([moved('/download/v1beta/files/x:download?alt=media', body), video])
    const gateway = testGateway(at('gateway.test', server, ''))
    const uri = at('gateway.test', server, '/v1beta/files/x:download?alt=media')
    expect(await fetchInto(gateway, sample(url(uri)))).toMatchObject(whole)
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([key, key])
    expect(server.requests[1]!.line).toBe('GET /download/v1beta/files/x:download?alt=media HTTP/1.1')
    expect(server.requests[0]!.headers).toMatchObject({ accept: '*/*', 'accept-encoding': 'identity' })
  })

  test('goes nowhere else: not after a redirect to a signed URL, and not to a relay’s address', async () => {
    const cdn = await localServer([video, video])
    const server = await localServer([moved(at('cdn.test', cdn))])
    const gateway = testGateway(at('gateway.test', server, '/proxy'))
    expect(await fetchInto(gateway, sample(content))).toMatchObject(whole)
    expect(await fetchInto(gateway, sample(url(at('cdn.test', cdn))))).toMatchObject(whole)
    expect(server.requests[0]!.line).toBe(`GET /proxy/v1/videos/${videoId}/content HTTP/1.1`)
    expect(server.requests[0]!.headers['authorization']).toBe(key)
    for (const { headers } of cdn.requests) expect(headers).not.toHaveProperty('authorization')
    expect(gateway.traced.join('\n')).not.toContain('s3cret')
  })
})

describe('where a video may be', () => {
  test('in the reply', async () => {
    const base64 = Buffer.from(clip).toString('base64')
    const gateway = testGateway('http://gateway.test')
    const bytes: VideoSource = { kind: 'bytes', from: base64 }
    expect(await fetchInto(gateway, sample(bytes))).toMatchObject(whole)
    expect(await fetchInto(gateway, sample(url(`data:video/mp4;base64,${base64}`)))).toMatchObject(whole)
    const damaged: VideoSource = { kind: 'bytes', from: 'AAAA!' }
    expect(await fetchInto(gateway, sample(damaged))).toMatchObject({ outcome: '8 damaged_media' })
    expect(await fetchInto(gateway, sample(bytes), { maxBytes: 10 })).toMatchObject({
      outcome: '8 reply_too_large',
      content: '',
    })
  })

  test('in cloud storage, which is explained', async () => {
    const place = url('gs://bucket/a.mp4')
    const { outcome, error } = await fetchInto(testGateway('http://gateway.test'), sample(place))
    expect(outcome).toBe('4 result_in_cloud_storage')
    expect(error!.facts).toMatchObject({
      hint: expect.stringContaining(place.from) as string,
    })
  })

  test('nowhere', async () => {
    expect(await fetchInto(testGateway('http://gateway.test'), sample())).toMatchObject({
      outcome: '8 reply_not_understood',
    })
  })
})

describe('an address of the service behind a relay, which wants that service’s own key', () => {
  const path = '/v1beta/files/x1:download?alt=media'
  const refusals = [401, 403].map((status) => text('{"error":{"message":"No key."}}', { status }))

  test.for([
    [401, refusals[0]!, path],
    [403, refusals[1]!, `/download${path}&key=of-the-service`],
  ] as const)(
    'is asked for at the gateway, with the gateway’s key, after HTTP %i',
    async ([, refusal, address]) => {
      const service = await localServer([refusal])
      const server = await localServer([video])
      const gateway = testGateway(at('gateway.test', server, '/relay'))
      expect(await fetchInto(gateway, sample(url(at('cdn.test', service, address))))).toMatchObject(whole)
      expect(service.requests[0]!.headers).not.toHaveProperty('authorization')
      expect(server.requests[0]).toMatchObject({
        line: `GET /relay${path} HTTP/1.1`,
        headers: { authorization: key },
      })
    },
  )

  test('goes on without the key where the gateway leads back', async () => {
    const service = await localServer([refusals[1]!, refusals[1]!])
    const there = at('cdn.test', service, path)
    const server = await localServer([moved(there)])
    const gateway = testGateway(at('gateway.test', server, ''))
    const { outcome } = await fetchInto(gateway, sample(url(there)))
    expect(outcome).toBe('4 url_expired')
    for (const { headers } of service.requests) expect(headers).not.toHaveProperty('authorization')
  })

  test('is asked for at the gateway where the service cannot be reached from here', async () => {
    const server = await localServer([video])
    const gateway = testGateway(at('gateway.test', server, ''), { policy: { mode: 'never' } })
    const away = at('cdn.test', { port: await closedPort() }, `${path}?alt=media`)
    expect(await fetchInto(gateway, sample(url(away)))).toMatchObject(whole)
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([key])
    const without = await localServer([json({}, { status: 404 })])
    const other = testGateway(at('gateway.test', without, ''), { policy: { mode: 'never' } })
    const { error } = await fetchInto(other, sample(url(away)))
    expect(error!.message).toMatch(
      /^cdn\.test:\d+ cannot be reached .*, and gateway\.test:\d+ does not serve it either/,
    )
  })

  test.for([
    ['does not know it', 404, '4 url_expired'],
    ['refuses it', 401, '4 url_expired'],
    ['fails', 502, '5 http_502'],
  ] as const)('is explained when the gateway %s', async ([, status, expected]) => {
    const service = await localServer([refusals[1]!])
    const server = await localServer([text('{"error":{"message":"No such file."}}', { status })])
    const gateway = testGateway(at('gateway.test', server, ''), { policy: { mode: 'never' } })
    const from = sample(url(at('cdn.test', service, path)))
    const { outcome, error } = await fetchInto(gateway, from)
    expect(outcome).toBe(expected)
    expect(error!.message).toContain(`cdn.test:${service.port} requires a key of its own for the video`)
    expect(error!.message).toContain(`gateway.test:${server.port}`)
    expect(error!.message).toContain('No such file.')
  })

  test.for([
    ['not found there', 404, path],
    ['of another kind', 403, '/a.mp4?sig=1'],
    ['hidden in a query', 403, `/a.mp4?next=${path}`],
  ] as const)('is not asked for at the gateway when it is %s', async ([, status, address]) => {
    const service = await localServer([text('', { status })])
    const server = await localServer([])
    const gateway = testGateway(at('gateway.test', server, ''), { policy: { mode: 'never' } })
    const { outcome } = await fetchInto(gateway, sample(url(at('cdn.test', service, address))))
    expect(outcome).toMatch(/^4 /)
  })
})

describe('what is no video', () => {
  const page = '<!DOCTYPE html><html><title>Sign in</title></html>'
  test.for<[string, ServerReply, string]>([
    ['a page after blanks', text(`\r\n  ${page}`), 'an HTML page, "Sign in"'],
    ['an error', json({ error: { message: 'The video is not ready.' } }), 'The video is not ready.'],
    ['an error declared as a video', text('{"error":"too early"}', mp4), 'too early'],
    [
      'an error in pieces',
      [readAll, write(head(200)), write(' \n{"mess'), write('age":"no"}'), { step: 'end' }],
      'no',
    ],
    [
      'an endless text',
      [readAll, write(head(200)), { step: 'flood', bytes: '{'.repeat(10_000) }],
      'Instead of the video',
    ],
  ])('%s is quoted, and nothing is written', async ([, reply, message]) => {
    const server = await localServer([reply])
    const result = await fetchInto(testGateway('http://gateway.test'), sample(url(at('cdn.test', server))))
    expect(result).toMatchObject({ outcome: '8 damaged_media', content: '' })
    expect(result.error!.message).toContain(message)
    await until(() => server.openSockets === 0)
  })
})

const broken = (body: string): ServerReply => [
  readAll,
  write(head(200, { 'content-length': String(clip.length), 'content-type': 'video/mp4' }) + body),
  reset,
]

test('what breaks off begins again, and how far it has come is told', async () => {
  const server = await localServer([broken(clip.slice(0, 10)), video])
  const progress: unknown[] = []
  const from = sample(url(at('cdn.test', server)))
  const onProgress = (step: unknown) => progress.push(step)
  expect(await fetchInto(testGateway('http://gateway.test'), from, { onProgress })).toMatchObject(whole)
  expect(progress[0]).toEqual({ received: 10, total: clip.length })
  expect(progress.at(-1)).toEqual({ received: clip.length, total: clip.length })
})

describe('a video with several sources', () => {
  const failures: readonly [string, readonly ServerReply[]][] = [
    ['has let it expire', [text('', { status: 403 })]],
    ['fails', Array<ServerReply>(3).fill(json({}, { status: 502 }))],
    ['wants to have it asked otherwise', [json({ error: { message: 'not yet' } }, { status: 400 })]],
    ['breaks off', Array<ServerReply>(3).fill(broken(clip.slice(0, 10)))],
  ]
  test.for(failures)('is had from the next one when the first %s', async ([, replies]) => {
    const cdn = await localServer(replies)
    const server = await localServer([video])
    const gateway = testGateway(server.url)
    expect(await fetchInto(gateway, sample(url(at('cdn.test', cdn)), content))).toMatchObject(whole)
  })

  test('is had from the next one when the first is refused, also over a connection that breaks', async () => {
    const server = await localServer([[readAll, reset], video])
    const gateway = testGateway(at('gateway.test', server, ''))
    const inside = url(at('rebinding.test', server))
    expect(await fetchInto(gateway, sample(inside, content))).toMatchObject(whole)
  })

  test('that hold different things is not put together from them', async () => {
    const cdn = await localServer(Array<ServerReply>(3).fill(broken(clip.slice(0, 10))))
    const other = '\0\0\0\x20ftypmp42 something else'
    const server = await localServer([text(other)])
    const from = sample(url(at('cdn.test', cdn)), content)
    expect(await fetchInto(testGateway(server.url), from)).toMatchObject({ content: other })
  })

  test('has the first failure, unless another tells that it has expired', async () => {
    const page = text('<html>')
    const bad = json({}, { status: 400 })
    const one = await localServer([page])
    const other = await localServer([bad])
    const gone = await localServer([text('', { status: 410 })])
    const gateway = testGateway('http://gateway.test')
    const place = (server: LocalServer) => url(at('cdn.test', server))
    expect(await fetchInto(gateway, sample(place(one), place(other)))).toMatchObject({
      outcome: '8 damaged_media',
    })
    const again = await localServer([page])
    expect(await fetchInto(gateway, sample(place(again), place(gone)))).toMatchObject({
      outcome: '4 url_expired',
    })
  })

  test('is not asked for elsewhere when the disk is full', async () => {
    const cdn = await localServer([video])
    const from = sample(url(at('cdn.test', cdn)), content)
    const writer = { write: () => Promise.reject(new FileError('no_space', 'full')), restart: async () => {} }
    await expect(createVideoDownload(testGateway(cdn.url), writer, { network })(from)).rejects.toMatchObject({
      exitCode: 10,
    })
  })

  test('is not asked for elsewhere after a signal', async () => {
    const cdn = await localServer([[readAll, stall]])
    const gateway = testGateway(cdn.url)
    const result = fetchInto(gateway, sample(url(at('cdn.test', cdn)), content))
    await until(() => cdn.requests[0]?.complete === true)
    gateway.abort(new Interrupted('interrupt'))
    expect(await result).toMatchObject({ outcome: '130 interrupted' })
  })
})

describe('an address that has expired', () => {
  const expired = text('<Error/>', { status: 403 })
  const report = (fields: object): JobReport => readVideo({ id: videoId, status: 'completed', ...fields })

  test('is asked for once more', async () => {
    const server = await localServer([expired, video, video])
    const gateway = testGateway(at('gateway.test', server, ''))
    const old = readOperation(samples('/old', '/second'))
    const fresh = readOperation(samples('/new', '/second'))
    let lookUps = 0
    const lookUp = async () => (lookUps++, fresh)
    const fetcher = createVideoFetcher(gateway, old, lookUp, { network })
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject(whole)
    expect(await fetched((writer) => fetcher.fetch(1, writer))).toMatchObject(whole)
    expect(lookUps).toBe(1)
    expect(fetcher.report).toBe(fresh)
    const paths = server.requests.map(({ line }) => line.split(' ')[1])
    expect(paths).toEqual(['/old', '/new', '/second'])
  })

  test('in the middle goes on at the fresh one', async () => {
    const cut = broken(clip.slice(0, 10))
    const server = await localServer([cut, expired, video])
    const gateway = testGateway(at('gateway.test', server, ''))
    const fetcher = createVideoFetcher(
      gateway,
      readOperation(samples('/old')),
      async () => readOperation(samples('/new')),
      { network },
    )
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject(whole)
  })

  test('twice is said to have expired, and when', async () => {
    const server = await localServer([expired, expired, expired])
    const gateway = testGateway(server.url)
    const over = report({ expires_at: now / 1000 - 60 })
    const fetcher = createVideoFetcher(gateway, over, async () => over)
    const first = await fetched((writer) => fetcher.fetch(0, writer))
    expect(first).toMatchObject({ outcome: '4 result_expired', error: { facts: { remoteId: videoId } } })
    expect(first.error!.message).toContain('it was available until 2025-12-31T23:59:00Z')
    // The next one is not looked up again.
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject({ outcome: '4 result_expired' })
  })

  test('may be not found any more', async () => {
    const server = await localServer(Array<ServerReply>(2).fill(json({}, { status: 404 })))
    const over = report({ expires_at: now / 1000 - 60 })
    const gateway = testGateway(server.url)
    const fetcher = createVideoFetcher(gateway, over, async () => over)
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject({ outcome: '4 result_expired' })
    // Nobody waits for it to appear.
    expect(gateway.retries).toEqual([])
  })

  test.for([{ code: 'video_expired', message: 'gone' }, { message: 'The video has expired.' }])(
    'may be said to have expired in words alone: %j',
    async (error) => {
      const server = await localServer(Array<ServerReply>(2).fill(json({ error }, { status: 404 })))
      const gateway = testGateway(server.url)
      const fetcher = createVideoFetcher(gateway, report({}), async () => report({}))
      const { outcome } = await fetched((writer) => fetcher.fetch(0, writer))
      expect(outcome).toBe('4 result_expired')
      expect(gateway.retries).toEqual([])
    },
  )

  test('is not looked up for what is something else', async () => {
    const server = await localServer([json({}, { status: 400 })])
    const fetcher = createVideoFetcher(testGateway(server.url), report({}), async () => {
      throw new Error('looked up')
    })
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject({ outcome: '4 http_400' })
  })
})

function samples(...paths: string[]): object {
  const generatedSamples = paths.map((uri) => ({ video: { uri } }))
  return { name: operationName, done: true, response: { generateVideoResponse: { generatedSamples } } }
}
