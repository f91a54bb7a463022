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

describe('on Linux a terminal is told by', () => {
  const self = { '/proc/self/stat': stat({}), ...boot }

  test.each(['node', 'a) S 1 2 3 4 (b'])(
    'its device, its session, and when that and the system started: %s',
    (name) => {
      expect(idOf({ ...self, '/proc/7/stat': stat({ pid: 7, name, started: 400 }) })).toBe(
        'terminal 34816, session 7 since 400, boot 0123abcd',
      )
    },
  )

  test('what its window sets where the leader is out of sight', () => {
    expect(idOf(self, { env: { TMUX_PANE: '%3' }, devices: () => [34816] })).toBe('TMUX_PANE=%3')
  })

  test('nothing without one, whatever was inherited', () => {
    const files = { ...boot, '/proc/self/stat': stat({ terminal: 0 }), '/proc/7/stat': stat({ pid: 7 }) }
    expect(idOf(files, { env: { TMUX_PANE: '%3' } })).toBe(undefined)
  })
})

describe('elsewhere a terminal is told by', () => {
  const mac = { platform: 'darwin', devices: () => [268435457] } as const

  test('all that its window sets', () => {
    const env = { TERM_SESSION_ID: 'w0t1p0:AB', TMUX: '/tmp/t,1,0', TMUX_PANE: '%3', HOME: '/u' }
    expect(idOf({}, { ...mac, env })).toBe('TERM_SESSION_ID=w0t1p0:AB TMUX=/tmp/t,1,0 TMUX_PANE=%3')
  })

  test('the same when all streams are pipes', () => {
    const env = { TERM_SESSION_ID: 'w0t1p0:AB' }
    expect(idOf({}, { platform: 'darwin', env, hasTerminal: () => true })).toBe('TERM_SESSION_ID=w0t1p0:AB')
    expect(idOf({}, { platform: 'darwin', env })).toBe(undefined)
  })

  test('its device where nothing is set, which Windows does not have', () => {
    expect(idOf({}, mac)).toBe('device 268435457')
    const windows = { platform: 'win32', devices: () => [0] } as const
    expect(idOf({}, windows)).toBe(undefined)
    expect(idOf({}, { ...windows, env: { WT_SESSION: 'x-1' } })).toBe('WT_SESSION=x-1')
  })
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
