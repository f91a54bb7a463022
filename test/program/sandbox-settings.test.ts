import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'

test('a certificate file that cannot be read ends the command, sandbox or not', async () => {
  const { code, err } = await runMain(['generate', '--sandbox', '--ca-file', 'nofile.pem', 'hi'])
  expect(code).toBe(2)
  expect(err).toContain('cannot be read')
})
