import { expect, test } from 'vitest'
import { urlLifetimeMinutes } from '../../../src/contract/images.ts'
import type { SandboxOptions } from '../../../src/sandbox/start-sandbox.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { create } from '../../support/image-calls.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { fetchBytes } from '../../support/video-calls.ts'

const body = { prompt: 'a quiet lake', size: '256x256', model: 'image-model-b' }

async function address(options: Partial<SandboxOptions> = {}, more = {}) {
  const sandbox = await runningSandbox(options)
  const { json } = await create(sandbox, { ...body, ...more })
  return { sandbox, url: json.data[0].url as string }
}

test('the address serves the image without a key, with its type, length and a strong tag', async () => {
  const { sandbox, url } = await address()
  const { status, headers, bytes } = await fetchBytes(url, { authorization: '' })
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('image/png')
  expect(headers.get('content-length')).toBe(String(bytes.length))
  expect(headers.get('etag')).toMatch(/^"[\da-f]{64}"$/)
  const again = await create(sandbox, { ...body, response_format: 'b64_json' })
  expect(bytes.toString('base64')).toBe(again.json.data[0].b64_json)
  expect(sandbox.created()).toBe(2)
})

test('an address works for 60 minutes of the clock and answers 403 from then on', async () => {
  const clock = fakeClock()
  const { url } = await address({ clock })
  await clock.advance(urlLifetimeMinutes * 60_000 - 1)
  expect((await fetchBytes(url)).status).toBe(200)
  await clock.advance(1)
  const expired = await fetchBytes(url)
  expect(expired.status).toBe(403)
  expect(JSON.parse(expired.bytes.toString())).toMatchObject({ error: { code: 'url_expired' } })
})

test('an address that was changed is 403, whatever was changed', async () => {
  const { url } = await address()
  const later = url.replace(/se=2\d/, 'se=30')
  const [forged, other] = [url.replace(/sig=./, 'sig=x'), url.replace(/images\/./, 'images/z')]
  for (const changed of [later, forged, other, url.split('?')[0]!]) {
    expect([changed === url, (await fetchBytes(changed)).status]).toEqual([false, 403])
  }
})
