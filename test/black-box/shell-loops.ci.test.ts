import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { spawn } from '@lydell/node-pty'
import { expect, onTestFinished, test } from 'vitest'
import { textStyles } from '../program/text-styles.ts'
import { localServer } from '../support/local-server.ts'
import { until } from '../support/running-sandbox.ts'
import { sse } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { isShell, launcher, spawnProgram } from './spawn-program.ts'
import { canaryKey } from '../support/canary-key.ts'

const { delta } = textStyles.respond
const stalling = sse([delta('Hello, ')], { ending: 'stall' })
const call = '"$NODE" "$LAUNCHER" respond -m some-model --base-url "$URL" x'
const loop = `for i in 1 2 3; do ${call}; echo "round $?"; done`

/** A shell on a pseudo-terminal. */
function startShell(shell: string, words: readonly string[], url: string) {
  const home = temporaryFolder()
  const terminal = spawn(shell, [...words], {
    cwd: home,
    cols: 200,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      TERM: 'dumb',
      NODE: process.execPath,
      LAUNCHER: launcher,
      URL: url,
      MODELGATE_API_KEY: canaryKey(),
    },
  })
  onTestFinished(() => terminal.kill('SIGKILL'))
  const gone = new Promise<unknown>((resolve) => terminal.onExit(resolve))
  let seen = ''
  let look = (): unknown => undefined
  terminal.onData((data) => {
    seen += data
    look()
  })
  return {
    gone,
    type: (keys: string) => terminal.write(keys),
    /** Resolves with everything on the screen once the pattern is on it. */
    screen: (pattern: RegExp) => {
      const { promise, resolve } = Promise.withResolvers<string>()
      look = () => pattern.test(seen) && resolve(seen)
      look()
      return promise
    },
    get seen() {
      return seen
    },
  }
}

for (const name of ['bash', 'dash', 'zsh']) {
  test.skipIf(!isShell(name))(`Ctrl-C stops a script in ${name} at its first call`, async () => {
    const server = await localServer([stalling])
    const shell = startShell(name, ['-c', `${loop}; echo after`], server.url)
    await shell.screen(/Hello, /)
    shell.type('\x03')
    await shell.gone
    expect(shell.seen).toContain('modelgate: Stopped.')
    expect(shell.seen).not.toMatch(/round|after/)
  })
}

for (const [name, ...words] of [
  ['bash', '--norc', '--noprofile', '-i'],
  ['zsh', '-f', '-i'],
] as const) {
  test.skipIf(!isShell(name))(`Ctrl-C stops a loop typed into ${name}, and $? is 130`, async () => {
    const server = await localServer([stalling])
    const shell = startShell(name, words, server.url)
    shell.type(`${loop}\r`)
    await shell.screen(/Hello, /)
    shell.type('\x03')
    await shell.screen(/modelgate: Stopped\./)
    shell.type('echo "status <$?>"\r')
    expect(await shell.screen(/status <\d+>/)).toMatch(/status <130>/)
    expect(shell.seen).not.toMatch(/round \d/)
  })
}

const newNamespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc']
const canBeInit = spawnSync('unshare', [...newNamespace, 'true']).status === 0

test.skipIf(!canBeInit)(
  'process 1 (needs unshare), immune to its own signals, exits with the number',
  async () => {
    const server = await localServer([stalling])
    const shell = `exec unshare ${newNamespace.join(' ')} -- "$NODE" "$LAUNCHER" "$@"`
    const argv = ['respond', '-m', 'some-model', '--base-url', server.url, 'x']
    const program = spawnProgram(argv, { shell })
    await until(() => program.stdout.length > 0)
    const { pid } = program.process
    process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), 'SIGTERM')
    const { exit, stderr } = await program.ended
    expect([exit, stderr]).toEqual([143, expect.stringContaining('modelgate: Terminated.')])
  },
)
