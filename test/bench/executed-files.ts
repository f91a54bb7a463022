/**
 * Counts the files under src/, outside the sandbox, of which code runs for one call of a command:
 * how much a reader has to know to follow it. The sources run unbundled, by Node's own type stripping.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = new URL('../../src/', import.meta.url)

const calls = {
  'respond "hi"': ['respond', 'hi'],
  'image create': ['image', 'create', '--quiet', '-o', 'a.png', 'A hill'],
  'video generate --wait': ['video', 'generate', '--wait', '--quiet', '-o', 'a.mp4', 'A hill'],
  'run, one image': ['run', '--quiet'],
} as const

const manifest = `version: 1
jobs:
  hill:
    image create: { model: gpt-image-2, prompt: A hill }
    out: hill.png
`

const start = `
  globalThis.__VERSION__ = '0'
  const { main, systemContext } = await import(${JSON.stringify(new URL('main.ts', source).href)})
  process.exitCode = await main(process.argv.slice(1), systemContext())
`

for (const [name, argv] of Object.entries(calls)) {
  const files = executedFiles([...argv, '--sandbox'])
  console.log(
    `${name}: ${sizeOf(files)}; of src/pipeline ${sizeOf(files.filter((file) => file.startsWith('pipeline/')))}`,
  )
  if (process.argv.includes('--list')) for (const file of files) console.log(`  ${file}`)
}

function sizeOf(files: readonly string[]): string {
  const lines = files.map((file) => readFileSync(new URL(file, source), 'utf8').split('\n').length - 1)
  return `${files.length} files, ${lines.reduce((sum, count) => sum + count, 0)} lines`
}

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
}

/** Whether a function of the module was called; the first entry is the module itself, which runs when it is loaded. */
function hasRun({ functions: [, ...functions] }: Script): boolean {
  return functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
}

function executedFiles(argv: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-coverage-'))
  const coverage = join(folder, 'coverage')
  const state = { MODELGATE_STATE_DIR: join(folder, 'state'), NODE_V8_COVERAGE: coverage }
  const env = { PATH: process.env['PATH'], HOME: folder, ...state }
  writeFileSync(join(folder, 'modelgate.yaml'), manifest)
  try {
    const words = ['--input-type=module', '--eval', start, '--', ...argv]
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`exit ${status}: ${stderr}`)
    const scripts = readdirSync(coverage).flatMap((file) => {
      const written = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: Script[] }
      return written.result.filter(({ url }) => url.startsWith(source.href)).filter(hasRun)
    })
    const paths = scripts.map(({ url }) => url.slice(source.href.length))
    return [...new Set(paths)].filter((path) => !path.startsWith('sandbox/')).sort()
  } finally {
    rmSync(folder, { recursive: true })
  }
}
