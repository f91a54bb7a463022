import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from '@lydell/node-pty'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findTerminalId, type TerminalHost } from '../../src/context/terminal.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const boot = { '/proc/sys/kernel/random/boot_id': '0123abcd-4567-89ab-cdef-0123456789ab\n' }

function idOf(files: Record<string, string>, more: Partial<TerminalHost> = {}): string | undefined {
  return findTerminalId({
    env: {},
    platform: 'linux',
    readFile: (path) => files[path],
    devices: () => [],
    hasTerminal: () => false,
    ...more,
  })
}

/** A line of /proc/PID/stat: session and terminal are its 6th and 7th field, the start its 22nd. */
const stat = ({ pid = 9, name = 'node', session = 7, terminal = 34816, started = 500 }) =>
  `${pid} (${name}) S 8 9 ${session} ${terminal} 9 4194304 1 2 3 4 5 6 7 8 20 0 1 0 ${started} 1000 20 18446744073709551615\n`

const self = { '/proc/self/stat': stat({}), ...boot }
const leader = (name: string) => ({ ...self, '/proc/7/stat': stat({ pid: 7, name, started: 400 }) })
const alone = { ...leader('sh'), '/proc/self/stat': stat({ terminal: 0 }) }
const said = 'terminal 34816, session 7 since 400, boot 0123abcd'
const pane = { env: { TMUX_PANE: '%3' } }
const mac = {
  platform: 'darwin',
  env: { TERM_SESSION_ID: 'w0t1p0:AB', TMUX_PANE: '%3', HOME: '/u' },
} as const
const set = 'TERM_SESSION_ID=w0t1p0:AB TMUX_PANE=%3'
const windows = { platform: 'win32', devices: () => [0] } as const

test.each<[string, Record<string, string>, Partial<TerminalHost>, string?]>([
  ['on Linux its device, its session, and when that and the system started', leader('node'), {}, said],
  ['the same after the name of a program that looks like the rest', leader('a) S 1 2 3 4 (b'), {}, said],
  [
    'what its window sets where the leader is out of sight',
    self,
    { ...pane, devices: () => [1] },
    'TMUX_PANE=%3',
  ],
  ['nothing without one, whatever was inherited', alone, pane],
  ['elsewhere all that its window sets', {}, { ...mac, devices: () => [1] }, set],
  ['the same when all streams are pipes', {}, { ...mac, hasTerminal: () => true }, set],
  ['nothing without one there', {}, mac],
  [
    'its device where nothing is set',
    {},
    { ...mac, env: {}, devices: () => [268435457] },
    'device 268435457',
  ],
  ['nothing on Windows, which has no device', {}, windows],
  ['what is set on Windows', {}, { ...windows, env: { WT_SESSION: 'x-1' } }, 'WT_SESSION=x-1'],
])('a terminal is told by %s', (_, files, host, id) => {
  expect(idOf(files, host)).toBe(id)
})

describe.skipIf(process.platform !== 'linux')('in real terminals', () => {
  const module = join(import.meta.dirname, '../../src/context/terminal.ts')
  const script = `import { findTerminalId, systemTerminal } from ${JSON.stringify(module)}
console.error('<' + findTerminalId(systemTerminal({}, 'linux')) + '>')`

  /** What a shell in a new terminal prints for each of some commands; `$P` is the program. */
  async function idsIn(commands: string): Promise<string[]> {
    const file = join(temporaryFolder(), 'id.mts')
    writeFileSync(file, script)
    const shell = spawn('sh', ['-c', `${commands}; echo done.; read x`], {
      cols: 300,
      env: { PATH: process.env['PATH'] ?? '', P: `${process.execPath} ${file}` },
    })
    onTestFinished(() => shell.kill('SIGKILL'))
    let seen = ''
    const { promise, resolve } = Promise.withResolvers<void>()
    shell.onData((text) => {
      seen += text
      if (seen.includes('done.')) resolve()
    })
    await promise
    return [...seen.matchAll(/<(.*?)>/g)].map(([, id]) => id!)
  }

  test('all commands of one have the same id, in pipes, too; another has another', async () => {
    const commands =
      '$P; echo x | $P | cat; (sh -c "$P"); x=$($P </dev/null 2>&1); echo "$x"; setsid $P </dev/null 2>&1 | cat'
    const [first, second] = await Promise.all([idsIn(commands), idsIn('$P')])
    const [id] = first
    expect(id).toMatch(/^terminal \d+, session \d+ since \d+, boot [0-9a-f]{8}$/)
    expect(first).toEqual([id, id, id, id, 'undefined'])
    expect(second).toEqual([expect.not.stringContaining(id!)])
  })
})
