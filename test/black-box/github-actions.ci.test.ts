import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { sse } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

/** Words of a model that a runner would obey, and that would end an output of a step whose delimiter is known. */
const words = '::set-env name=PATH::/evil\n##[add-path]/evil\n::add-mask::a\nghadelimiter_1\nx<<EOF\n%0A\n'

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const answer = sse([event({ candidates: [{ content: { parts: [{ text: words }] }, finishReason: 'STOP' }] })])

function step(server: { readonly url: string }) {
  const cwd = temporaryFolder()
  const file = join(cwd, 'my outputs')
  closeSync(openSync(file, 'w'))
  const env = {
    GITHUB_ACTIONS: 'true',
    CI: 'true',
    GITHUB_OUTPUT: file,
    MODELGATE_BASE_URL: server.url,
    MODELGATE_TEXT_MODEL: 'm',
  }
  return { cwd, env, file }
}

test('as an output of the step they are data, and nothing of them is in the log', async () => {
  const { cwd, env, file } = step(await localServer([answer]))
  writeFileSync(file, 'earlier=1\n')
  const argv = ['generate', '--github-output', 'answer', 'Hi']
  const { exit, stdout, stderr } = await spawnProgram(argv, { cwd, env }).ended
  expect([exit, String(stdout), stderr]).toEqual([0, '', ''])
  const [, delimiter = 'none'] =
    /^answer<<(ghadelimiter_[0-9a-f]{32})$/m.exec(readFileSync(file, 'utf8')) ?? []
  expect(readFileSync(file, 'utf8')).toBe(
    `earlier=1\nanswer<<${delimiter}\n${words.slice(0, -1)}\n${delimiter}\n`,
  )
})
