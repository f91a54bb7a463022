import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { videoSources } from '../../../src/gateway/videos/fetch-video.ts'
import type { VideoSource } from '../../../src/gateway/videos/video-sources.ts'
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

  test('is below its id, whatever characters that has', () => {
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
    ['a wrapper of a relay', { code: 'success', data: { task_id: videoId, data: { video: { url: a } } } }],
  ])('is at the address that a relay gives first: %s', ([, fields]) => {
    expect(sourcesOf(fields)).toEqual([[url(a), content]])
  })

  const bad = { url: 'a.mp4', video: 'video_123', output: 'text', metadata: { url: 5 }, video_url: null }
  test.for<[string, object, VideoSource[][]]>([
    ['nowhere else', {}, [[content]]],
    ['no address', bad, [[content]]],
    ['other schemes', { url: 'javascript:alert(1)', video_url: 'file:///etc/passwd' }, [[content]]],
    ['an address as the source', { remixed_from_video_id: a }, [[content, url(a)]]],
    ['an id as the source', { remixed_from_video_id: 'video_123' }, [[content]]],
    ['an address as a reason', { fail_reason: a }, [[content, url(a)]]],
    ['a reason', { fail_reason: 'video_123' }, [[content]]],
    ['an address without an origin', { url: '/v1/files/x.mp4' }, [[url('/v1/files/x.mp4'), content]]],
    ['several addresses', { video_url: a, url: b }, [[url(a), url(b), content]]],
    ['several videos', { videos: [{ url: a }, { url: b }] }, [[url(a)], [url(b)]]],
    ['several videos in a list', { video_url: a, output: [a, b] }, [[url(a)], [url(b)]]],
  ])('may be at %s', ([, fields, expected]) => {
    expect(sourcesOf(fields)).toEqual(expected)
  })
})

describe('the videos of an operation', () => {
  const base64 = 'AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDE='
  const long = base64.slice(0, 43).repeat(8)
  const data = `data:video/mp4;base64,${base64}`
  const gcsUri = 'gs://bucket/a.mp4'
  const bytes = (from: string): VideoSource => ({ kind: 'bytes', from })
  const one = [{ video: { uri: a } }]
  const two = [...one, { video: { uri: b } }]
  const sample = (fields: object) => ({ generatedSamples: [fields] })

  test.for<[string, object | undefined, VideoSource[][]]>([
    ['its samples', { generateVideoResponse: { generatedSamples: two } }, [[url(a)], [url(b)]]],
    ['its videos', { generatedVideos: one }, [[url(a)]]],
    ['the videos of the response', { generateVideoResponse: { generatedVideos: one } }, [[url(a)]]],
    ['encoded', sample({ video: { encodedVideo: base64, encoding: 'video/mp4' } }), [[bytes(base64)]]],
    ['bytes', sample({ video: { videoBytes: base64, mimeType: 'video/webm' } }), [[bytes(base64)]]],
    ['bytesBase64Encoded', sample({ bytesBase64Encoded: base64 }), [[bytes(base64)]]],
    ['a sample of text', sample({ video: { video: long, encoding: 'video/mp4' } }), [[bytes(long)]]],
    [
      'at hand first, and in cloud storage last',
      { videos: [{ gcsUri, uri: a, bytesBase64Encoded: base64 }] },
      [[bytes(base64), url(a), url(gcsUri)]],
    ],
    ['in cloud storage alone', { videos: [{ gcsUri }] }, [[url(gcsUri)]]],
    ['a data URL', { videos: [{ bytesBase64Encoded: data }] }, [[url(data)]]],
    ['none', {}, []],
    ['not told', undefined, []],
  ])('are %s', ([, response, expected]) => {
    expect(videoSources(readOperation({ name: operationName, done: true, response }))).toEqual(expected)
  })

  test('that was found as a Video are below the id of that', () => {
    const below: VideoSource = { kind: 'content', from: '/v1/videos/umz7sqimep69/content' }
    expect(videoSources(readOperation({ id: 'umz7sqimep69', status: 'done' }))).toEqual([[below]])
    expect(videoSources(readOperation({ status: 'done', url: a }))).toEqual([[url(a), below]])
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
