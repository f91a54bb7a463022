import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { canaryKey } from '../support/canary-key.ts'

test('a certificate file that cannot be read ends the command, sandbox or not', async () => {
  const { code, err } = await runMain(['generate', '--sandbox', '--ca-file', 'nofile.pem', 'hi'])
  expect(code).toBe(10)
  expect(err).toContain('cannot be read')
})

test('the document names the model that the gateway chose, where the call names none', async () => {
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
  const { code, out } = await runMain(['respond', '--jsonl', 'hi'], { env })
  expect(code).toBe(0)
  const lines = out.trimEnd().split('\n')
  expect(JSON.parse(lines[0]!)).toMatchObject({ type: 'start', model: null })
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'end', model: 'sandbox-text' })
})
