import { expect, test } from 'vitest'
import { rawForm } from '../../support/raw-form.ts'
import { call, runningSandbox } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'

const path = '/v1/images/edits'
const { png } = await testImages(16)

/** A whole form with these texts and one image. */
function formOf(texts: readonly (readonly [string, string])[]): Buffer {
  const head = (name: string) => `--edge\r\ncontent-disposition: form-data; name="${name}"`
  const before = texts.map(([name, text]) => `${head(name)}\r\n\r\n${text}\r\n`).join('')
  const fileHead = `${head('image')}; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`
  return Buffer.concat([Buffer.from(before + fileHead), png, Buffer.from('\r\n--edge--\r\n')])
}

const fields = [
  ['prompt', 'a dot'],
  ['size', '256x256'],
] as const

test('a form is read however it is cut on its way', async () => {
  const sandbox = await runningSandbox()
  const body = formOf(fields)
  for (const size of [1, 7, 100, body.length]) {
    const { bytes } = await rawForm(sandbox, path, body, 'multipart/form-data; boundary=edge', size)
    expect(bytes).toMatch(/^HTTP\/1\.1 200 /)
  }
})

const withN = (n: string): [string, number, Buffer] => [`with n=${n}`, 400, formOf([...fields, ['n', n]])]

test.each<[string, status: number, body: Buffer, type?: string]>([
  ['of the type of JSON', 400, formOf(fields), 'application/json'],
  ['without a boundary', 400, formOf(fields), 'multipart/form-data'],
  ['that ends too early', 400, formOf(fields).subarray(0, -20)],
  ['that is empty', 400, Buffer.alloc(0)],
  ['with a field twice', 400, formOf([...fields, ['prompt', 'again']])],
  ['with an unknown field', 400, formOf([...fields, ['colour', 'red']])],
  ['with a field __proto__', 400, formOf([...fields, ['__proto__', 'x']])],
  ['with a field constructor', 400, formOf([...fields, ['constructor', 'x']])],
  ['with n=2', 200, formOf([...fields, ['n', '2']])],
  ...['2.5', '2e0', ' 2', ''].map(withN),
])('a form %s is answered with %i', async (_, status, body, type = 'multipart/form-data; boundary=edge') => {
  const sandbox = await runningSandbox()
  const { bytes } = await rawForm(sandbox, path, body, type)
  expect(Number(/^HTTP\/1\.1 (\d+)/.exec(bytes)?.[1])).toBe(status)
  expect(sandbox.created()).toBe(status === 200 ? 1 : 0)
})

test('what is no form is told so', async () => {
  const { status, json } = await call(await runningSandbox(), path, { prompt: 'a dot' })
  expect([status, json.error.message]).toEqual([400, expect.stringContaining('must be multipart/form-data')])
})
