import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
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

test('code that was cut off is not run, but replaced', async () => {
  const folder = temporaryFolder()
  await runWith(folder)
  const paths = [...kept(folder).values()]
  for (const path of paths) writeFileSync(path, readFileSync(path).subarray(0, 1_000))
  await runWith(folder)
  expect(Math.min(...paths.map((path) => statSync(path).size))).toBeGreaterThan(1_000)
})

test('code that V8 compiled with other options is replaced', async () => {
  const folder = temporaryFolder()
  await runWith(folder)
  const before = [...kept(folder).values()].map((path) => statSync(path).mtimeMs)
  await runWith(folder, { NODE_OPTIONS: '--stack-trace-limit=7' })
  const after = [...kept(folder).values()].map((path) => statSync(path).mtimeMs)
  expect(after.filter((time, index) => time === before[index])).toEqual([])
})

test('NODE_DISABLE_COMPILE_CACHE keeps nothing', async () => {
  const folder = temporaryFolder()
  await runWith(folder, { NODE_DISABLE_COMPILE_CACHE: '1' })
  expect(kept(folder).size).toBe(0)
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
