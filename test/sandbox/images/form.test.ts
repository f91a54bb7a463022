import { expect, test } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/start-sandbox.ts'
import { rawForm } from '../../support/raw-form.ts'
import { call, runningSandbox } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'

const path = '/v1/images/edits'
const { png } = await testImages(16)

/** A whole form with these texts and one image. */
function formOf(texts: readonly (readonly [string, string])[], file: Uint8Array = png): Buffer {
  return Buffer.concat([
    ...texts.map(([name, text]) =>
      Buffer.from(`--edge\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`),
    ),
    Buffer.from(
      '--edge\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n',
    ),
    file,
    Buffer.from('\r\n--edge--\r\n'),
  ])
}

const fields = [
  ['prompt', 'a dot'],
  ['size', '256x256'],
] as const

async function statusOf(sandbox: Sandbox, body: Buffer, contentType = 'multipart/form-data; boundary=edge') {
  const { bytes } = await rawForm(sandbox, path, body, contentType)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(bytes)?.[1])
}

test('a form is read however it is cut on its way', async () => {
  const sandbox = await runningSandbox()
  const body = formOf(fields)
  for (const size of [1, 7, 100, body.length]) {
    const { bytes } = await rawForm(sandbox, path, body, 'multipart/form-data; boundary=edge', size)
    expect(bytes).toMatch(/^HTTP\/1\.1 200 /)
  }
})

test('what is no form, or ends too early, is 400', async () => {
  const sandbox = await runningSandbox()
  expect(await statusOf(sandbox, formOf(fields), 'application/json')).toBe(400)
  expect(await statusOf(sandbox, formOf(fields), 'multipart/form-data')).toBe(400)
  expect(await statusOf(sandbox, formOf(fields).subarray(0, -20))).toBe(400)
  expect(await statusOf(sandbox, Buffer.alloc(0))).toBe(400)
  const { json } = await call(sandbox, path, { prompt: 'a dot' })
  expect(json.error.message).toContain('must be multipart/form-data')
  expect(sandbox.created()).toBe(0)
})

test('a field that is sent twice, unknown, or named like a part of every object is refused', async () => {
  const sandbox = await runningSandbox()
  for (const extra of [
    ['prompt', 'again'],
    ['colour', 'red'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
  ] as const) {
    expect(await statusOf(sandbox, formOf([...fields, extra]))).toBe(400)
  }
  expect(await statusOf(sandbox, formOf(fields))).toBe(200)
})

test('numbers are read as numbers and nothing else is', async () => {
  const sandbox = await runningSandbox()
  for (const [text, status] of [
    ['2', 200],
    ['2.5', 400],
    ['2e0', 400],
    [' 2', 400],
    ['', 400],
  ] as const) {
    expect([text, await statusOf(sandbox, formOf([...fields, ['n', text]]))]).toEqual([text, status])
  }
})
