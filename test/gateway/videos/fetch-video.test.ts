import { describe, expect, test } from 'vitest'
import { FileError, Interrupted } from '../../../src/errors.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import {
  createVideoFetcher,
  createVideoDownload,
  type FetchVideoOptions,
} from '../../../src/gateway/videos/fetch-video.ts'
import type { VideoSource } from '../../../src/gateway/videos/video-sources.ts'
import type { JobReport } from '../../../src/gateway/videos/read-job.ts'
import { closedPort, localServer, type LocalServer } from '../../support/local-server.ts'
import {
  end,
  flood,
  head,
  json,
  readAll,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { at, broken, fetched, key, moved, network } from '../downloads.ts'
import { served, testGateway, until } from '../test-gateway.ts'
import { now, readOperation, operationName, readVideo, videoId } from './job-facts.ts'

const clip = '\0\0\0\x20ftypisom and a paper boat'
const mp4 = { headers: { 'content-type': 'video/mp4' } }
const video = text(clip, mp4)
const cut = broken(clip.slice(0, 10), clip.length)
const missing = json({}, { status: 404 })

const content: VideoSource = { kind: 'content', from: `/v1/videos/${videoId}/content` }
const url = (address: string): VideoSource => ({ kind: 'url', from: address })
/** At a host that is not the gateway's. */
const elsewhere = (server: Pick<LocalServer, 'port'>, path?: string) => url(at('cdn.test', server, path))

const fetchFrom = (gateway: Gateway, sources: readonly VideoSource[], options: FetchVideoOptions = {}) =>
  fetched((writer) => createVideoDownload(gateway, writer, { network, ...options })(sources))
const away = () => testGateway('http://gateway.test')
/** A gateway at the server that asks once. */
const askingOnce = (server: LocalServer) =>
  testGateway(at('gateway.test', server, ''), { policy: { mode: 'never' } })

const whole = { outcome: 'framed', content: clip }

describe('the key', () => {
  test('goes along to the content, and over every hop on the same host', async () => {
    const server = await localServer([moved('/download/v1beta/files/x:download?alt=media'), video])
    const own = at('gateway.test', server, '/v1beta/files/x:download?alt=media')
    expect(await fetchFrom(testGateway(at('gateway.test', server, '')), [url(own)])).toMatchObject(whole)
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([key, key])
    expect(server.requests[1]!.line).toBe('GET /download/v1beta/files/x:download?alt=media HTTP/1.1')
    expect(server.requests[0]!.headers).toMatchObject({ accept: '*/*', 'accept-encoding': 'identity' })
  })

  test('goes nowhere else: not after a redirect to a signed URL, and not to a relay’s address', async () => {
    const cdn = await localServer([video, video])
    const server = await localServer([moved(at('cdn.test', cdn))])
    const gateway = testGateway(at('gateway.test', server, '/proxy'))
    expect(await fetchFrom(gateway, [content])).toMatchObject(whole)
    expect(await fetchFrom(gateway, [elsewhere(cdn)])).toMatchObject(whole)
    expect(server.requests[0]!.line).toBe(`GET /proxy/v1/videos/${videoId}/content HTTP/1.1`)
    expect(server.requests[0]!.headers['authorization']).toBe(key)
    for (const { headers } of cdn.requests) expect(headers).not.toHaveProperty('authorization')
    expect(gateway.traced.join('\n')).not.toContain('s3cret')
  })
})

const base64 = Buffer.from(clip).toString('base64')
const bytes: VideoSource = { kind: 'bytes', from: base64 }

test.for<[string, readonly VideoSource[], object, number?]>([
  ['in the reply', [bytes], whole],
  ['a data URL', [url(`data:video/mp4;base64,${base64}`)], whole],
  ['damaged in the reply', [{ kind: 'bytes', from: 'AAAA!' }], { outcome: '8 damaged_media' }],
  ['too large', [bytes], { outcome: '8 reply_too_large', content: '' }, 10],
  [
    'in cloud storage, which is explained',
    [url('gs://bucket/a.mp4')],
    {
      outcome: '4 result_in_cloud_storage',
      error: { facts: { hint: expect.stringContaining('gs://bucket/a.mp4') as string } },
    },
  ],
  ['nowhere', [], { outcome: '8 reply_not_understood' }],
])('a video may be: %s', async ([, sources, expected, maxBytes]) => {
  const options = maxBytes === undefined ? {} : { maxBytes }
  expect(await fetchFrom(away(), sources, options)).toMatchObject(expected)
})

describe('an address of the service behind a relay, which wants that service’s own key', () => {
  const path = '/v1beta/files/x1:download?alt=media'
  const refusal = (status = 403) => text('{"error":{"message":"No key."}}', { status })

  test.for([
    [401, path],
    [403, `/download${path}&key=of-the-service`],
  ] as const)(
    'is asked for at the gateway, with the gateway’s key, after HTTP %i',
    async ([status, address]) => {
      const service = await localServer([refusal(status)])
      const server = await localServer([video])
      const gateway = testGateway(at('gateway.test', server, '/relay'))
      expect(await fetchFrom(gateway, [elsewhere(service, address)])).toMatchObject(whole)
      expect(service.requests[0]!.headers).not.toHaveProperty('authorization')
      expect(server.requests[0]).toMatchObject({
        line: `GET /relay${path} HTTP/1.1`,
        headers: { authorization: key },
      })
    },
  )

  test('goes on without the key where the gateway leads back', async () => {
    const service = await localServer([refusal(), refusal()])
    const server = await localServer([moved(at('cdn.test', service, path))])
    const gateway = testGateway(at('gateway.test', server, ''))
    const expired = { outcome: '4 url_expired' }
    expect(await fetchFrom(gateway, [elsewhere(service, path)])).toMatchObject(expired)
    for (const { headers } of service.requests) expect(headers).not.toHaveProperty('authorization')
  })

  test('is asked for at the gateway where the service cannot be reached from here', async () => {
    const [server, without] = [await localServer([video]), await localServer([missing])]
    const sources = [elsewhere({ port: await closedPort() }, `${path}?alt=media`)]
    expect(await fetchFrom(askingOnce(server), sources)).toMatchObject(whole)
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([key])
    const { error } = await fetchFrom(askingOnce(without), sources)
    expect(error!.message).toMatch(
      /^cdn\.test:\d+ cannot be reached .*, and gateway\.test:\d+ does not serve it either/,
    )
  })

  test.for([
    ['does not know it', 404, '4 url_expired'],
    ['refuses it', 401, '4 url_expired'],
    ['fails', 502, '5 http_502'],
  ] as const)('is explained when the gateway %s', async ([, status, expected]) => {
    const service = await localServer([refusal()])
    const server = await localServer([text('{"error":{"message":"No such file."}}', { status })])
    const { outcome, error } = await fetchFrom(askingOnce(server), [elsewhere(service, path)])
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
    const { outcome } = await fetchFrom(askingOnce(await localServer([])), [elsewhere(service, address)])
    expect(outcome).toMatch(/^4 /)
  })
})

test.for<[string, ServerReply, string]>([
  [
    'a page after blanks',
    text('\r\n  <!DOCTYPE html><html><title>Sign in</title></html>'),
    'an HTML page, "Sign in"',
  ],
  ['an error', json({ error: { message: 'The video is not ready.' } }), 'The video is not ready.'],
  ['an error declared as a video', text('{"error":"too early"}', mp4), 'too early'],
  ['an error in pieces', [readAll, write(head(200)), write(' \n{"mess'), write('age":"no"}'), end], 'no'],
  ['an endless text', [readAll, write(head(200)), flood('{'.repeat(10_000))], 'Instead of the video'],
])('%s in place of a video is quoted, and nothing is written', async ([, reply, message]) => {
  const server = await localServer([reply])
  const result = await fetchFrom(away(), [elsewhere(server)])
  expect(result).toMatchObject({ outcome: '8 damaged_media', content: '' })
  expect(result.error!.message).toContain(message)
  await until(() => server.openSockets === 0)
})

test('what breaks off begins again, and how far it has come is told', async () => {
  const server = await localServer([cut, video])
  const progress: unknown[] = []
  const onProgress = (step: unknown) => progress.push(step)
  expect(await fetchFrom(away(), [elsewhere(server)], { onProgress })).toMatchObject(whole)
  expect(progress[0]).toEqual({ received: 10, total: clip.length })
  expect(progress.at(-1)).toEqual({ received: clip.length, total: clip.length })
})

describe('a video with several sources', () => {
  test.for<[string, readonly ServerReply[]]>([
    ['has let it expire', [text('', { status: 403 })]],
    ['fails', Array<ServerReply>(3).fill(json({}, { status: 502 }))],
    ['wants to have it asked otherwise', [json({ error: { message: 'not yet' } }, { status: 400 })]],
    ['breaks off', [cut, cut, cut]],
  ])('is had from the next one when the first %s', async ([, replies]) => {
    const cdn = await localServer(replies)
    const { gateway } = await served([video])
    expect(await fetchFrom(gateway, [elsewhere(cdn), content])).toMatchObject(whole)
  })

  test('is had from the next one when the first is refused, also over a connection that breaks', async () => {
    const server = await localServer([[readAll, reset], video])
    const inside = url(at('rebinding.test', server))
    const gateway = testGateway(at('gateway.test', server, ''))
    expect(await fetchFrom(gateway, [inside, content])).toMatchObject(whole)
  })

  test('that hold different things is not put together from them', async () => {
    const cdn = await localServer([cut, cut, cut])
    const other = '\0\0\0\x20ftypmp42 something else'
    const { gateway } = await served([text(other)])
    expect(await fetchFrom(gateway, [elsewhere(cdn), content])).toMatchObject({ content: other })
  })

  test.for([
    ['the first', '8 damaged_media', 400],
    ['that it has expired', '4 url_expired', 410],
  ] as const)('has the failure of %s', async ([, outcome, status]) => {
    const servers = [await localServer([text('<html>')]), await localServer([text('', { status })])]
    const sources = servers.map((server) => elsewhere(server))
    expect(await fetchFrom(away(), sources)).toMatchObject({ outcome })
  })

  test('is not asked for elsewhere when the disk is full', async () => {
    const { server, gateway } = await served([video])
    const writer = { write: () => Promise.reject(new FileError('no_space', 'full')), restart: async () => {} }
    const download = createVideoDownload(gateway, writer, { network })
    await expect(download([elsewhere(server), content])).rejects.toMatchObject({ exitCode: 10 })
  })

  test('is not asked for elsewhere after a signal', async () => {
    const { server, gateway } = await served([[readAll, stall]])
    const result = fetchFrom(gateway, [elsewhere(server), content])
    await until(() => server.requests[0]?.complete === true)
    gateway.abort(new Interrupted('interrupt'))
    expect(await result).toMatchObject({ outcome: '130 interrupted' })
  })
})

describe('an address that has expired', () => {
  const expired = text('<Error/>', { status: 403 })
  const report = (fields: object): JobReport => readVideo({ id: videoId, status: 'completed', ...fields })
  const over = report({ expires_at: now / 1000 - 60 })
  const samples = (...paths: string[]) => {
    const generatedSamples = paths.map((uri) => ({ video: { uri } }))
    const response = { generateVideoResponse: { generatedSamples } }
    return readOperation({ name: operationName, done: true, response })
  }

  test('is asked for once more', async () => {
    const server = await localServer([expired, video, video])
    const fresh = samples('/new', '/second')
    let lookUps = 0
    const lookUp = async () => (lookUps++, fresh)
    const gateway = testGateway(at('gateway.test', server, ''))
    const fetcher = createVideoFetcher(gateway, samples('/old', '/second'), lookUp, { network })
    for (const index of [0, 1]) {
      expect(await fetched((writer) => fetcher.fetch(index, writer))).toMatchObject(whole)
    }
    expect(lookUps).toBe(1)
    expect(fetcher.report).toBe(fresh)
    expect(server.requests.map(({ line }) => line.split(' ')[1])).toEqual(['/old', '/new', '/second'])
  })

  test('in the middle goes on at the fresh one', async () => {
    const gateway = testGateway(at('gateway.test', await localServer([cut, expired, video]), ''))
    const fetcher = createVideoFetcher(gateway, samples('/old'), async () => samples('/new'), { network })
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject(whole)
  })

  const gone = (error: object) => json({ error }, { status: 404 })

  test.for<[string, ServerReply, JobReport, RegExp]>([
    ['twice', expired, over, /it was available until 2025-12-31T23:59:00Z/],
    ['and is not found any more', missing, over, /./],
    ['by its code', gone({ code: 'video_expired', message: 'gone' }), report({}), /./],
    ['by its words', gone({ message: 'The video has expired.' }), report({}), /./],
  ])('%s is said to have expired, and is not waited for', async ([, reply, known, says]) => {
    const { gateway } = await served([reply, reply])
    const fetcher = createVideoFetcher(gateway, known, async () => known)
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject({
      outcome: '4 result_expired',
      error: { message: expect.stringMatching(says) as string, facts: { remoteId: videoId } },
    })
    expect(gateway.retries).toEqual([])
  })

  test('is looked up once for all', async () => {
    const { gateway } = await served([expired, expired, expired])
    const fetcher = createVideoFetcher(gateway, over, async () => over)
    for (const _ of [1, 2]) {
      const { outcome } = await fetched((writer) => fetcher.fetch(0, writer))
      expect(outcome).toBe('4 result_expired')
    }
  })

  test('is not looked up for what is something else', async () => {
    const { gateway } = await served([json({}, { status: 400 })])
    const fetcher = createVideoFetcher(gateway, report({}), () => Promise.reject(new Error('looked up')))
    expect(await fetched((writer) => fetcher.fetch(0, writer))).toMatchObject({ outcome: '4 http_400' })
  })
})
