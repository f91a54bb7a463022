import { expect, test } from 'vitest'
import { urlLifetimeMinutes } from '../../../src/contract/images.ts'
import type { SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { create } from '../../support/image-calls.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'

const body = { prompt: 'a quiet lake', size: '256x256', model: 'image-model-b' }

async function address(options: Partial<SandboxOptions> = {}, more = {}) {
  const sandbox = await runningSandbox(options)
  const { json } = await create(sandbox, { ...body, ...more })
  return { sandbox, url: json.data[0].url as string }
}

async function bytesAt(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

test('the address serves the image without a key, with its type, length and a strong tag', async () => {
  const { sandbox, url } = await address()
  const { status, headers, bytes } = await bytesAt(url)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('image/png')
  expect(headers.get('content-length')).toBe(String(bytes.length))
  expect(headers.get('etag')).toMatch(/^"[\da-f]{64}"$/)
  const again = await create(sandbox, { ...body, response_format: 'b64_json' })
  expect(bytes.toString('base64')).toBe(again.json.data[0].b64_json)
  expect(sandbox.created()).toBe(2)
})

test.each([
  ['webp', 'image/webp'],
  ['jpeg', 'image/jpeg'],
])('a %s is served as %s', async (output_format, mediaType) => {
  const { url } = await address({}, { model: 'my-own', output_format })
  expect(url).toMatch(output_format === 'jpeg' ? /\.jpg\?/ : /\.webp\?/)
  expect((await bytesAt(url)).headers.get('content-type')).toBe(mediaType)
})

test('an address works for 60 minutes of the clock and answers 403 from then on', async () => {
  const clock = fakeClock()
  const { url } = await address({ clock })
  await clock.advance(urlLifetimeMinutes * 60_000 - 1)
  expect((await bytesAt(url)).status).toBe(200)
  await clock.advance(1)
  const expired = await bytesAt(url)
  expect(expired.status).toBe(403)
  expect(JSON.parse(expired.bytes.toString())).toMatchObject({ error: { code: 'url_expired' } })
})

test('an address that was changed is 403, whatever was changed', async () => {
  const { url } = await address()
  for (const changed of [
    url.replace(/se=2\d/, 'se=30'),
    url.replace(/sig=./, 'sig=x'),
    url.replace(/images\/./, 'images/z'),
    url.split('?')[0]!,
  ]) {
    expect([changed === url, (await bytesAt(changed)).status]).toEqual([false, 403])
  }
})

test('parts of an image are served', async () => {
  const { url } = await address()
  const { bytes, headers } = await bytesAt(url)
  const length = bytes.length
  const etag = headers.get('etag')!
  const cases: readonly (readonly [string, number, number])[] = [
    ['bytes=0-0', 0, 1],
    ['bytes=100-199', 100, 200],
    [`bytes=${length - 1}-`, length - 1, length],
    ['bytes=-10', length - 10, length],
    [`bytes=5-${length + 99}`, 5, length],
  ]
  for (const [range, start, end] of cases) {
    const part = await bytesAt(url, { range, 'if-range': etag })
    expect([range, part.status, part.headers.get('content-range')]).toEqual([
      range,
      206,
      `bytes ${start}-${end - 1}/${length}`,
    ])
    expect(part.headers.get('etag')).toBe(etag)
    expect(part.bytes.equals(bytes.subarray(start, end))).toBe(true)
  }
  for (const headers of [
    { range: 'bytes=0-9', 'if-range': '"other"' },
    { range: 'lines=1-2' },
    { range: 'bytes=9-1' },
  ]) {
    const whole = await bytesAt(url, headers)
    expect([whole.status, whole.bytes.length]).toEqual([200, length])
  }
  for (const range of [`bytes=${length}-`, 'bytes=-0']) {
    const refused = await bytesAt(url, { range })
    expect([refused.status, refused.headers.get('content-range')]).toEqual([416, `bytes */${length}`])
  }
})

test('a web page of another site is refused', async () => {
  const { url } = await address()
  expect((await bytesAt(url, { origin: 'https://example.com' })).status).toBe(403)
})
