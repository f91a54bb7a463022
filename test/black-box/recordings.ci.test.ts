import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { recordingsIn } from '../support/recorder.ts'
import { until } from '../support/running-sandbox.ts'
import { chunk, head, json, readAll, stall, write } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

async function started(args: readonly string[]) {
  const program = spawnProgram(['sandbox', ...args])
  await until(() => program.stdout.includes('\n'))
  return { program, url: program.stdout.toString().trim() }
}

const request = { method: 'POST', headers: { authorization: 'Bearer any' }, body: '{}' }

test('a recorder that is killed leaves no half recording, and the next one goes on', async () => {
  const folder = join(temporaryFolder(), 'calls')
  const streamHead = head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' })
  const large = `data: ${'x'.repeat(100_000)}\n\n`
  const gateway = await localServer([
    json({ n: 1 }),
    [readAll, write(streamHead), write(chunk(large)), write(chunk('data: ')), stall],
    json({ n: 2 }),
  ])
  const record = ['--record', folder, '--upstream', gateway.url]
  const first = await started(record)
  await (await fetch(`${first.url}/v1/responses`, request)).text()
  const broken = await fetch(`${first.url}/v1/responses`, request)
  const reader = broken.body!.getReader()
  await reader.read()
  first.program.process.kill('SIGKILL')
  await first.program.ended
  await expect(reader.read().then(() => reader.closed)).rejects.toThrow('terminated')
  expect(recordingsIn(folder)).toHaveLength(1)

  const second = await started(record)
  await (await fetch(`${second.url}/v1/responses`, request)).text()
  second.program.process.kill('SIGTERM')
  expect((await second.program.ended).exit).toBe('SIGTERM')
  expect(recordingsIn(folder)).toHaveLength(2)

  const replaying = await started(['--replay', folder, '--strict'])
  const ask = async () => (await fetch(`${replaying.url}/v1/responses`, request)).text()
  expect([await ask(), await ask()]).toEqual(['{"n":1}', '{"n":2}'])
  replaying.program.process.kill('SIGTERM')
  expect((await replaying.program.ended).exit).toBe('SIGTERM')
  expect(readdirSync(folder).filter((name) => !/^(?:\d{4}-.*\.json|bodies)$/.test(name))).toEqual([])
})
