import { chmodSync, chownSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { packagedProgram, spawnProgram } from './spawn-program.ts'

/** Runs `help exit-codes` with a folder for compiled code. */
async function runWith(folder: string, env: Record<string, string> = {}): Promise<void> {
  const { ended } = spawnProgram(['help', 'exit-codes'], {
    program: packagedProgram,
    env: { NODE_COMPILE_CACHE: folder, ...env },
  })
  const { exit, stdout, stderr } = await ended
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout.toString()).toContain('How modelgate ends')
}

/** The kept code of the scripts, by their names. */
function kept(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.cjs.v8'),
  )
  return new Map(names.map((name) => [name, join(folder, name)]))
}

test('what has been compiled is kept, and taken at the next start', async () => {
  const folder = temporaryFolder()
  await runWith(folder)
  const files = kept(folder)
  expect([...files.keys()].map((name) => name.split(/[\\/]/).at(-1))).toContain('main.cjs.v8')
  const before = [...files.values()].map((path) => statSync(path).ino)
  await runWith(folder)
  expect([...kept(folder).values()].map((path) => statSync(path).ino)).toEqual(before)
})

test('code of another version of a script is not run, but replaced', async () => {
  const folder = temporaryFolder()
  await runWith(folder)
  const [, path] = [...kept(folder)].find(([name]) => /start-[^/\\]*$/.test(name))!
  const whole = readFileSync(path)
  const other = Buffer.from(whole)
  other[5]! ^= 1
  // V8 would take this without a look.
  other.fill(0x55, 4_096)
  writeFileSync(path, other)
  await runWith(folder)
  expect(readFileSync(path).subarray(0, 32)).toEqual(whole.subarray(0, 32))
})

// The administrator may write everywhere.
test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
  'a folder that cannot be written keeps nothing from running',
  async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o500)
    await runWith(folder)
    expect(kept(folder).size).toBe(0)
  },
)

test.skipIf(process.platform === 'win32')('code that others could have written is not run', async () => {
  const folder = temporaryFolder()
  await runWith(folder)
  for (const path of kept(folder).values()) {
    const bytes = readFileSync(path)
    // V8 would take this without a look, and die of it.
    writeFileSync(path, bytes.fill(0x55, 4_096))
    chmodSync(path, 0o666)
  }
  await expect(runWith(folder)).resolves.toBeUndefined()
})

test.skipIf(process.platform === 'win32' || process.getuid?.() !== 0)(
  'code of another user is not run',
  async () => {
    const folder = temporaryFolder()
    await runWith(folder)
    for (const path of kept(folder).values()) {
      writeFileSync(path, readFileSync(path).fill(0x55, 4_096))
      chownSync(path, 65_534, 65_534)
    }
    await expect(runWith(folder)).resolves.toBeUndefined()
  },
)

test('no code is kept or taken below the working directory', async () => {
  const folder = temporaryFolder()
  const env = { NODE_COMPILE_CACHE: 'cache', XDG_CACHE_HOME: '.', HOME: '.' }
  const run = () => spawnProgram(['help', 'exit-codes'], { program: packagedProgram, cwd: folder, env }).ended
  expect((await run()).exit).toBe(0)
  expect(kept(folder).size).toBe(0)
  await runWith(join(folder, 'cache'))
  const planted = [...kept(folder).values()]
  expect(planted).not.toEqual([])
  // V8 would take this without a look, and die of it.
  for (const path of planted) writeFileSync(path, readFileSync(path).fill(0x55, 4_096))
  expect((await run()).exit).toBe(0)
})
