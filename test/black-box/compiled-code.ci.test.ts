import { chmodSync, chownSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { endOf, packagedProgram } from './spawn-program.ts'

/** Runs `help exit-codes` with a folder for compiled code. */
async function run(folder: string, { cwd, ...env }: Record<string, string> = {}): Promise<void> {
  const options = { program: packagedProgram, env: { NODE_COMPILE_CACHE: folder, ...env } }
  const ended = await endOf(['help', 'exit-codes'], { ...options, ...(cwd !== undefined && { cwd }) })
  expect(ended).toEqual({ exit: 0, stdout: expect.stringContaining('How modelgate ends'), stderr: '' })
}

/** The paths of the kept code of the scripts. */
const kept = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.cjs.v8'))
    .map((name) => join(folder, name))

/** V8 would take this without a look, and die of it. */
const spoil = (path: string) => writeFileSync(path, readFileSync(path).fill(0x55, 4_096))

test('what has been compiled is kept, and taken at the next start', async () => {
  const folder = temporaryFolder()
  await run(folder)
  const files = kept(folder)
  expect(files.filter((path) => /[\\/]main\.cjs\.v8$/.test(path))).toHaveLength(1)
  const before = files.map((path) => statSync(path).ino)
  await run(folder)
  expect(kept(folder).map((path) => statSync(path).ino)).toEqual(before)
})

test('each command keeps what it has called; a mistyped one keeps nothing', async () => {
  const folder = temporaryFolder()
  const env: Record<string, string> = {
    NODE_COMPILE_CACHE: folder,
    MODELGATE_STATE_DIR: temporaryFolder(),
  }
  const end = async (...words: string[]) => (await endOf(words, { program: packagedProgram, env })).exit
  expect([await end('repsond', 'hi'), kept(folder)]).toEqual([2, []])
  // Without SIMD the parser of replies is another file.
  env['UNDICI_NO_WASM_SIMD'] = '1'
  expect(await end('respond', '--sandbox', 'hi')).toBe(0)
  expect(await end('respond', '--help')).toBe(0)
  const [respond, help] = ['respond', 'help'].map((command) => {
    return statSync(kept(folder).find((path) => path.includes(`${command}${sep}request-`))!).size
  })
  expect(respond).toBeGreaterThan(help!)
})

test('code of another version of a script is not run, but replaced', async () => {
  const folder = temporaryFolder()
  await run(folder)
  const path = kept(folder).find((name) => /start-[^/\\]*$/.test(name))!
  const whole = readFileSync(path)
  const other = Buffer.from(whole)
  other[5]! ^= 1
  writeFileSync(path, other.fill(0x55, 4_096))
  await run(folder)
  expect(readFileSync(path).subarray(0, 32)).toEqual(whole.subarray(0, 32))
})

const { platform, getuid } = process
const isRoot = getuid?.() === 0

// The administrator may write everywhere.
test.skipIf(platform === 'win32' || isRoot)(
  'a folder that cannot be written keeps nothing from running',
  async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o500)
    await run(folder)
    expect(kept(folder)).toEqual([])
  },
)

test.skipIf(platform === 'win32').each<[string, boolean, (path: string) => void]>([
  ['others could have written', true, (path) => chmodSync(path, 0o666)],
  ['is of another user', isRoot, (path) => chownSync(path, 65_534, 65_534)],
])('code that %s is not run', async (_, isPossible, change) => {
  if (!isPossible) return
  const folder = temporaryFolder()
  await run(folder)
  for (const path of kept(folder)) {
    spoil(path)
    change(path)
  }
  await expect(run(folder)).resolves.toBeUndefined()
})

test('no code is kept or taken below the working directory', async () => {
  const folder = temporaryFolder()
  const below = { cwd: folder, XDG_CACHE_HOME: '.', HOME: '.' }
  await run('cache', below)
  expect(kept(folder)).toEqual([])
  await run(join(folder, 'cache'))
  expect(kept(folder)).not.toEqual([])
  kept(folder).forEach(spoil)
  await run('cache', below)
})
