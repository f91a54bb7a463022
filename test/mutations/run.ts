/**
 * Makes each small wrong change of `mutations.ts` in a copy of the checkout and runs the tests that have to notice it.
 * `node test/mutations/run.ts [NAME…]`; ends with 1 when one is not noticed, or could not be tried.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { mutations, type Mutation } from './mutations.ts'

const root = join(import.meta.dirname, '../..')
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !mutations.some((mutation) => mutation.name === name))
if (unknown.length > 0) {
  const names = mutations.map(({ name }) => name).join('\n  ')
  console.error(`There is no mutation ${unknown.join(', ')}. There are:\n  ${names}`)
  process.exit(1)
}
const chosen = mutations.filter(({ name }) => asked.length === 0 || asked.includes(name))

const folder = mkdtempSync(join(tmpdir(), 'modelgate-mutations-'))
try {
  const left = new Set(['.git', 'node_modules', 'dist'])
  cpSync(root, folder, { recursive: true, filter: (path) => !left.has(relative(root, path)) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  process.exitCode = tryAll() ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function tryAll(): boolean {
  // A test that fails anyway would seem to notice everything.
  const broken = [...new Set(chosen.flatMap(({ tests }) => tests))].filter((path) => !passes([path]))
  for (const path of broken) console.log(`${path} fails, or is not there, without any mutation.`)
  const survivors = chosen.filter((mutation) => {
    const verdict = verdictOn(mutation, broken)
    console.log(`${mutation.name}: ${verdict}`)
    return verdict !== 'noticed'
  })
  console.log(`${chosen.length - survivors.length} noticed, ${survivors.length} not noticed`)
  return survivors.length === 0
}

function verdictOn({ file, before, after, tests }: Mutation, broken: readonly string[]): string {
  const usable = tests.filter((path) => !broken.includes(path))
  if (usable.length === 0) return 'NOT TRIED: no test of it passes without it'
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(before).length - 1
  if (found !== 1) {
    return `NOT TRIED: ${file} holds this text ${found} times in place of once; bring the mutation up to date:\n${before}`
  }
  writeFileSync(
    path,
    text.replace(before, () => after),
  )
  try {
    return passes(usable) ? `NOT NOTICED by ${usable.join(', ')}` : 'noticed'
  } finally {
    writeFileSync(path, text)
  }
}

/** Whether the test files are there and pass; those that run the built program get it built from the copy. */
function passes(tests: readonly string[]): boolean {
  if (tests.some((path) => !existsSync(join(folder, path)))) return false
  const PATH = [dirname(process.execPath), process.env['PATH']].join(process.platform === 'win32' ? ';' : ':')
  const env = { ...process.env, PATH }
  // Whatever takes so long hangs.
  const options = { cwd: folder, env, stdio: 'ignore', timeout: 600_000, killSignal: 'SIGKILL' } as const
  const run = (...words: string[]) => spawnSync(process.execPath, words, options).status === 0
  if (tests.some((path) => path.startsWith('test/black-box/')) && !run('rolldown.build.ts')) return false
  return run('node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...tests)
}
