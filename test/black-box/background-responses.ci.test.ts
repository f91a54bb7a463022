import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until, type Json } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

/** Makes the responses of the sandbox ten seconds older, so that they have ended without a wait. */
function passTenSeconds(home: string): void {
  const folder = join(home, '.local/state/modelgate/sandbox/responses')
  for (const name of readdirSync(folder)) {
    const entry = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Json
    entry.acceptedAt -= 10_000
    writeFileSync(join(folder, name), JSON.stringify(entry))
  }
}

test('a killed command leaves a response that another one prints', async () => {
  const home = temporaryFolder()
  const env = { HOME: home }
  const start = (...words: readonly string[]) => spawnProgram(words, { cwd: home, env })
  const streaming = start('respond', '--sandbox', '--background', '--stream', 'Name three rivers')
  await until(() => streaming.stdout.length > 20)
  streaming.process.kill('SIGKILL')
  const shown = (await streaming.ended).stdout.toString()
  const waiting = start('wait', '--last')
  await until(() => waiting.stderr.includes('in_progress'))
  waiting.process.kill('SIGKILL')
  expect((await waiting.ended).stdout.length).toBe(0)
  passTenSeconds(home)
  const { exit, stdout } = await start('wait', '--last').ended
  expect([exit, stdout.toString().startsWith(shown)]).toEqual([0, true])
  const again = await start('wait', '--last', '--stream').ended
  expect(again.stdout.toString()).toBe(stdout.toString())
})
