import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { sse } from '../support/server-replies.ts'
import { canMount, mountTmpfs } from '../support/small-disks.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { textStyles } from '../program/text-styles.ts'
import { rescuedIn } from '../program/images/image-run.ts'
import { endOf } from './spawn-program.ts'
import { canaryKey } from '../support/canary-key.ts'

const cannotBeFull = !existsSync('/dev/full')
const noSpaceLeft: unknown = expect.stringContaining('Standard output cannot be written: no space left')

/** A sandbox that, other than that of `--sandbox`, answers at once. */
async function sandboxEnv(): Promise<Readonly<Record<string, string>>> {
  const { url } = await runningSandbox()
  return { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
}

/** What is said of money when nothing can be written to standard output. */
async function remarkOf(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { exit, stderr } = await endOf(argv, { shell: 'modelgate "$@" >/dev/full', env })
  expect([exit, stderr]).toEqual([10, noSpaceLeft])
  return /(?:"billed":"|The request )(\w+)/.exec(stderr)?.[1]
}

test.skipIf(cannotBeFull).each(['--version', 'help exit-codes', 'generate --sandbox --dry-run x'])(
  '%s to a full disk costs nothing',
  async (words) => {
    expect(await remarkOf(words.split(' '))).toBeUndefined()
  },
)

test.skipIf(cannotBeFull).each<[string, string]>([
  ['generate -m sandbox-text x', 'was'],
  ['image create -m gpt-image-2 --quality low -o x.png --json x', 'yes'],
  ['video generate -m video-model --no-wait x', 'was'],
])('%s to a full disk has been paid for', async (words, remark) => {
  expect(await remarkOf(words.split(' '), await sandboxEnv())).toBe(remark)
})

test.skipIf(!canMount)('a disk that fills up while text comes loses nothing of it', async () => {
  const gateway = await textGateway()
  const folder = temporaryFolder()
  mountTmpfs(folder, 64)
  const state = temporaryFolder()
  const env = { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: canaryKey(), MODELGATE_STATE_DIR: state }
  const words = ['generate', '-m', 'm', 'x']
  const printed = await endOf(words, { shell: 'modelgate "$@" >out.txt', env, cwd: folder })
  expect(printed.exit).toBe(10)
  const begun = readFileSync(join(folder, 'out.txt'), 'utf8')
  const rest = String(rescuedIn(state).get('generate.txt'))
  expect(begun.length).toBeGreaterThan(0)
  // It begins where standard output ended, or before that.
  expect(`${gateway.text}\n`.endsWith(rest)).toBe(true)
  expect(begun.length + rest.length).toBeGreaterThanOrEqual(gateway.text.length)
  expect(gateway.text.startsWith(begun)).toBe(true)
  rmSync(join(folder, 'out.txt'))
  const saved = await endOf([...words, '-o', 'answer.txt'], { env, cwd: folder })
  expect(saved).toMatchObject({ exit: 10, stdout: '' })
  expect(saved.stderr).toMatch(
    /^modelgate: "answer\.txt" cannot be written: there is no space left\. It is kept in /m,
  )
  expect(String(rescuedIn(state).get('answer.txt'))).toBe(gateway.text)
})

test.skipIf(!canMount).each([
  ['an image', ['image', 'create', '-m', 'gpt-image-2', '--quality', 'low', '-o', '-', 'x']],
  ['the schema', ['schema', 'events']],
])('%s of which a full disk takes only a part is an error', async (_, words) => {
  const folder = temporaryFolder()
  mountTmpfs(folder, 4)
  const shell = 'modelgate "$@" >out'
  const { exit, stderr } = await endOf(words, { shell, cwd: folder, env: await sandboxEnv() })
  expect([exit, stderr]).toEqual([10, noSpaceLeft])
  expect(readFileSync(join(folder, 'out')).length).toBe(4096)
})

/** Answers two requests with 400 pieces of a text of 200,000 characters. */
async function textGateway(): Promise<{ readonly url: string; readonly text: string }> {
  const pieces = Array.from({ length: 400 }, (_, at) => `${at} `.padEnd(500, 'x'))
  const { delta, end } = textStyles.generate
  const reply = sse([...pieces.map((piece) => delta(piece)), end])
  const { url } = await localServer([reply, reply])
  return { url, text: pieces.join('') }
}
