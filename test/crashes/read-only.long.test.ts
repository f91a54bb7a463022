import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { packagedProgram, spawnProgram } from '../black-box/spawn-program.ts'
import { writeFiles, temporaryFolder } from '../support/temporary-folder.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { canMount, mountReadOnly } from '../support/small-disks.ts'

const isRoot = process.getuid?.() === 0

/** Root may write anywhere, unless it gives up what makes it so. */
const withoutRights = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', ...packagedProgram]

const ways = [
  {
    way: 'mounted read-only (needs the right to mount)',
    isThere: canMount,
    close: mountReadOnly,
    program: packagedProgram,
    clause: 'the file system is read-only',
  },
  {
    way: 'of mode 555 (needs setpriv)',
    isThere: !isRoot || spawnSync('setpriv', ['--version']).status === 0,
    close: (folder: string) => {
      chmodSync(folder, 0o555)
      onTestFinished(() => chmodSync(folder, 0o755))
    },
    program: isRoot ? withoutRights : packagedProgram,
    clause: 'permission denied',
  },
] as const

const folders = ['home', 'state', 'project'] as const

/** A machine with one folder that cannot be written. */
async function machineWith(closed: (typeof folders)[number], { close, program }: (typeof ways)[number]) {
  const root = temporaryFolder()
  const sandbox = await runningSandbox()
  for (const name of folders) mkdirSync(join(root, name))
  const [home, state, cwd] = folders.map((name) => join(root, name)) as [string, string, string]
  writeFiles(cwd, {
    'modelgate.yaml':
      'version: 1\njobs:\n  note: { respond: { model: some-text-model, input: A note }, out: note.txt }\n',
  })
  close(join(root, closed))
  const env = {
    HOME: home,
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_POLL_INTERVAL: '0.1',
    ...(closed !== 'home' && { MODELGATE_STATE_DIR: state }),
  }
  const callWith = async (more: Readonly<Record<string, string>>, ...words: readonly string[]) => {
    const { exit, stdout, stderr } = await spawnProgram(words, { program, cwd, env: { ...env, ...more } })
      .ended
    return { exit, stdout: stdout.toString(), stderr }
  }
  const call = (...words: readonly string[]) => callWith({}, ...words)
  return { call, callWith, created: () => sandbox.created(), files: () => readdirSync(cwd) }
}

const text = ['generate', '-m', 'sandbox-text', 'A word']
const image = ['image', 'create', '-m', 'gpt-image-2', '-o', 'hero.png', 'A boat']
const video = ['video', 'generate', '-m', 'veo-3.1', '--wait', '-o', 'boat.mp4', 'A boat']

for (const way of ways) {
  describe.skipIf(!way.isThere)(`a folder ${way.way}`, () => {
    test.each([
      ['an image', image],
      ['a video', video],
      ['a text', [...text, '-o', 'note.txt']],
      ['a run', ['run', '--yes']],
    ])('of %s: refused before anything is sent', async (_, words) => {
      const { call, created, files } = await machineWith('project', way)
      const { exit, stderr } = await call(...words)
      expect([exit, created(), files()]).toEqual([10, 0, ['modelgate.yaml']])
      expect(stderr).toContain(way.clause)
    })

    test('of no result: a text is printed', async () => {
      const { call } = await machineWith('project', way)
      const { exit, stdout } = await call(...text)
      expect(exit).toBe(0)
      expect(stdout).toContain('These words come from the local sandbox')
    })

    test.each(['state', 'home'] as const)(
      'for %s: calls work, and say what is not recorded',
      async (closed) => {
        const { call, created, files } = await machineWith(closed, way)
        for (const words of [text, image, video]) {
          const { exit, stderr } = await call(...words)
          expect([words[0], exit, exit === 0 ? '' : stderr]).toEqual([words[0], 0, ''])
          expect(stderr).toContain(way.clause)
        }
        expect([created(), files().toSorted()]).toEqual([3, ['boat.mp4', 'hero.png', 'modelgate.yaml']])
        const run = await call('run', '--yes')
        expect([run.exit, run.exit === 0 ? '' : run.stderr]).toEqual([0, ''])
        expect((await call('log')).exit).toBe(0)
        expect((await call('jobs')).exit).toBe(0)
      },
    )

    test('for the home: a setting is refused, with the reason', async () => {
      const { call } = await machineWith('home', way)
      const { exit, stderr } = await call('config', 'set', 'text_model', 'some-model')
      expect(exit).toBe(10)
      expect(stderr).toContain(way.clause)
    })

    test('for the state: nothing is sent where what is created is limited, and cannot be counted', async () => {
      const { callWith, created } = await machineWith('state', way)
      const { exit, stderr } = await callWith({ MODELGATE_MAX_CREATES: '5' }, ...text)
      expect([exit, created()]).toEqual([10, 0])
      expect(stderr).toContain(way.clause)
    })
  })
}
