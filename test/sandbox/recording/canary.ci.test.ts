import { expect, test } from 'vitest'
import { echoGateway, spellings, type Failure } from '../../program/echo-gateway.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../../support/canary-key.ts'
import { recorder, recordingsIn } from '../../support/recorder.ts'
import { sample } from '../../support/sample.ts'

const calls: readonly (readonly [path: string, body?: object])[] = [
  ['/v1/responses', { model: 'some', input: 'hello' }],
  ['/v1/responses', { model: 'some', input: 'hello', stream: true }],
  ['/v1/images/generations', { model: 'gpt-image-2', prompt: 'boat' }],
  ['/v1/images/generations', { model: 'gpt-image-2', prompt: 'boat', stream: true }],
  ['/v1/videos', { model: 'sora-2', prompt: 'boat' }],
  ['/v1/videos/video_1'],
  ['/v1beta/models/some:generateContent', { contents: [] }],
  ['/v1beta/models/some:streamGenerateContent?alt=sse', { contents: [] }],
  ['/v1beta/models/veo:predictLongRunning', { instances: [{ prompt: 'boat' }] }],
  ['/v1beta/models/veo/operations/op-1'],
  ['/media/video'],
]

const failures: readonly Failure[] = ['none', 'failed', 'refused', 'urls']

const cases = sample(
  Object.keys(spellings).flatMap((spelling) => failures.map((failure) => [spelling, failure] as const)),
  1,
  String,
  ([spelling]) => spelling,
)

test.each(cases)('no recording holds the key that a gateway writes: %s, %s', async (spelling, failure) => {
  const key = canaryKey()
  const gateway = await echoGateway(spellings[spelling]!, failure)
  const { url, folder, lines } = await recorder(gateway.url, { key })
  for (const [path, body] of calls) {
    const headers = { 'content-type': 'application/json' }
    const request = body && { method: 'POST', headers, body: JSON.stringify(body) }
    await (await fetch(url + path, request)).arrayBuffer()
  }
  expect(recordingsIn(folder).length + lines.length).toBe(calls.length)
  expectNoKeyBelow(folder, key)
  expectNoKey('the report', lines.join('\n'), key)
})
