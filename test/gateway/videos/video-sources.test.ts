import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { videoSources, type VideoSource } from '../../../src/gateway/videos/fetch-video.ts'
import { hostileValue, prototypes } from '../hostile-values.ts'
import { operationName, readOperation, readVideo, videoId } from './job-facts.ts'
import { runs } from '../../support/sample.ts'

const content: VideoSource = { kind: 'content', from: `/v1/videos/${videoId}/content` }
const url = (address: string): VideoSource => ({ kind: 'url', from: address })
const a = 'https://cdn.test/a.mp4?sig=1'
const b = 'https://cdn.test/b.mp4'

describe('the video of a Video', () => {
  const sourcesOf = (fields: object) =>
    videoSources(readVideo({ id: videoId, status: 'completed', ...fields }))

  test('is below its id', () => {
    expect(sourcesOf({})).toEqual([[content]])
  })

  test('whose id has odd characters', () => {
    const report = readVideo({ id: videoId, status: 'completed' })
    expect(videoSources({ ...report, id: 'video_a+b/c=' })).toEqual([
      [{ kind: 'content', from: '/v1/videos/video_a%2Bb%2Fc%3D/content' }],
    ])
  })

  test.for<[string, object]>([
    ['video_url', { video_url: a }],
    ['url', { url: a }],
    ['result_url', { result_url: a }],
    ['metadata', { metadata: { url: a } }],
    ['output', { output: a }],
    ['a list in output', { output: [a] }],
    ['a list in data', { data: [{ url: a }] }],
    ['an object in data', { data: { video_url: a } }],
    ['video', { video: { url: a, duration: 8 } }],
    ['video as a text', { video: a }],
    ['a result of a task', { task_result: { videos: [{ id: 'x', url: a, duration: '5' }] } }],
    ['video_url as an object', { video_url: { url: a } }],
    ['video_urls', { video_urls: [a] }],
    ['urls', { data: { urls: [a] } }],
    ['unsigned_urls', { unsigned_urls: [a] }],
    ['resultUrls', { resultUrls: [a] }],
    ['assets', { assets: { video: a, thumbnail: b } }],
    ['the same address twice', { video_url: a, url: a, data: [{ url: a }] }],
  ])('is at the address that a relay gives first: %s', ([, fields]) => {
    expect(sourcesOf(fields)).toEqual([[url(a), content]])
  })

  test.for(['remixed_from_video_id', 'fail_reason'])(
    'may be at an address in %s, as a last resort',
    (name) => {
      expect(sourcesOf({ [name]: a })).toEqual([[content, url(a)]])
      expect(sourcesOf({ [name]: 'video_123' })).toEqual([[content]])
    },
  )

  test('may be at an address of the gateway without its origin', () => {
    expect(sourcesOf({ url: '/v1/files/x.mp4' })).toEqual([[url('/v1/files/x.mp4'), content]])
  })

  test('may be at several addresses, or be several videos', () => {
    expect(sourcesOf({ video_url: a, url: b })).toEqual([[url(a), url(b), content]])
    expect(sourcesOf({ videos: [{ url: a }, { url: b }] })).toEqual([[url(a)], [url(b)]])
    expect(sourcesOf({ video_url: a, output: [a, b] })).toEqual([[url(a)], [url(b)]])
  })

  test('is not at what is no address', () => {
    const fields = { url: 'a.mp4', video: 'video_123', output: 'text', metadata: { url: 5 }, video_url: null }
    expect(sourcesOf(fields)).toEqual([[content]])
    expect(sourcesOf({ url: 'javascript:alert(1)', video_url: 'file:///etc/passwd' })).toEqual([[content]])
  })

  test('in what a relay has wrapped it', () => {
    const value = {
      code: 'success',
      data: { task_id: videoId, status: 'SUCCESS', data: { video: { url: a } } },
    }
    expect(videoSources(readVideo(value))).toEqual([[url(a), content]])
  })
})

describe('the videos of an operation', () => {
  const done = (response: object) =>
    videoSources(readOperation({ name: operationName, done: true, response }))
  const base64 = 'AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDE='

  test('are its samples', () => {
    const generatedSamples = [{ video: { uri: a } }, { video: { uri: b } }]
    expect(done({ '@type': 'x', generateVideoResponse: { generatedSamples } })).toEqual([[url(a)], [url(b)]])
    expect(done({ generatedVideos: [{ video: { uri: a } }] })).toEqual([[url(a)]])
    expect(done({ generateVideoResponse: { generatedVideos: [{ video: { uri: a } }] } })).toEqual([[url(a)]])
  })

  const long = base64.slice(0, 43).repeat(8)
  test.for<[string, object, string]>([
    ['encodedVideo', { video: { encodedVideo: base64, encoding: 'video/mp4' } }, base64],
    ['videoBytes', { video: { videoBytes: base64, mimeType: 'video/webm' } }, base64],
    ['bytesBase64Encoded', { bytesBase64Encoded: base64 }, base64],
    ['the name of the sample', { video: { video: long, encoding: 'video/mp4' } }, long],
  ])('may be in the reply: %s', ([, sample, content]) => {
    const bytes = { kind: 'bytes', from: content }
    expect(done({ generatedSamples: [sample] })).toEqual([[bytes]])
  })

  test('are taken from where they are at hand first, and from cloud storage last', () => {
    const gcsUri = 'gs://bucket/a.mp4'
    expect(done({ videos: [{ gcsUri, uri: a, bytesBase64Encoded: base64 }] })).toEqual([
      [{ kind: 'bytes', from: base64 }, url(a), url(gcsUri)],
    ])
    expect(done({ videos: [{ gcsUri }] })).toEqual([[url(gcsUri)]])
  })

  test('may be a data URL', () => {
    const data = `data:video/mp4;base64,${base64}`
    expect(done({ videos: [{ bytesBase64Encoded: data }] })).toEqual([[url(data)]])
  })

  test('may be missing', () => {
    expect(done({})).toEqual([])
    expect(videoSources(readOperation({ name: operationName, done: true }))).toEqual([])
  })

  test('that was found as a Video are below the id of that', () => {
    const from = '/v1/videos/umz7sqimep69/content'
    expect(videoSources(readOperation({ id: 'umz7sqimep69', status: 'done' }))).toEqual([
      [{ kind: 'content', from }],
    ])
    expect(videoSources(readOperation({ status: 'done', url: a }))).toEqual([
      [url(a), { kind: 'content', from }],
    ])
  })
})

test('whatever a gateway sends, every place is one, and no prototype is touched', () => {
  const before = prototypes()
  const report = readVideo({ id: videoId, status: 'completed' })
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('data', 'video', 'output', 'url', 'response'), hostileValue),
      (value) => {
        for (const sources of videoSources({ ...report, value })) {
          expect(sources.length).toBeGreaterThan(0)
          expect(new Set(sources.map((source) => JSON.stringify(source))).size).toBe(sources.length)
        }
      },
    ),
    runs(500),
  )
  expect(prototypes()).toEqual(before)
})

test('a reply that is nested without end is not followed', () => {
  let value: object = { url: a }
  for (let depth = 0; depth < 5_000; depth++) value = { data: value }
  expect(videoSources(readVideo({ id: videoId, status: 'completed', output: value }))).toEqual([[content]])
})
