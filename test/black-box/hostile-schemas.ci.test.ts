import { expect, test } from 'vitest'
import { until } from '../support/running-sandbox.ts'
import { spawnProgram } from './spawn-program.ts'

test('a sandbox that is asked for everything at once still dies of SIGTERM', async () => {
  const sandbox = spawnProgram(['sandbox', '--latency', 'none'])
  await until(() => sandbox.stdout.includes('\n'))
  const url = sandbox.stdout.toString().trim()
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers: { authorization: 'Bearer x' }, body: JSON.stringify(body) })
  const schema = { type: 'array', items: true, minItems: 1_000_000_000 }
  const format = { type: 'json_schema', name: 'a', schema }
  const refused = await post('/v1/responses', { input: 'hi', text: { format } })
  expect(refused.status).toBe(400)
  const pictures = { model: 'image-model-a', prompt: 'hills', n: 10, quality: 'high' }
  const drawing = post('/v1/images/generations', pictures)
  const lost = drawing.then((response) => response.text()).catch((error: Error) => error)
  // The others are answered while ten pictures are drawn.
  expect((await fetch(`${url}/sandbox/stats`)).status).toBe(200)
  sandbox.process.kill('SIGTERM')
  expect((await sandbox.ended).exit).toBe('SIGTERM')
  expect(await lost).toBeInstanceOf(Error)
})
