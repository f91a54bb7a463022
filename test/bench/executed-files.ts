/**
 * Counts the files under src/, outside the sandbox, of which code runs for one call of a command:
 * how much a reader has to know to follow it. The sources run unbundled, by Node's own type stripping.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = new URL('../../src/', import.meta.url)

const calls = {
  'respond "hi"': ['respond', 'hi'],
  'image create': ['image', 'create', '--quiet', '-o', 'a.png', 'A hill'],
  'video generate --wait': ['video', 'generate', '--wait', '--quiet', '-o', 'a.mp4', 'A hill'],
} as const

const start = `
  globalThis.__VERSION__ = '0'
  const { main, systemContext } = await import(${JSON.stringify(new URL('main.ts', source).href)})
  process.exitCode = await main(process.argv.slice(1), systemContext())
`

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
}

/** Whether a function of the module was called; the first entry is the module itself, which runs when it is loaded. */
function hasRun({ functions: [, ...functions] }: Script): boolean {
  return functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
}

for (const [name, argv] of Object.entries(calls)) {
  const files = executedFiles([...argv, '--sandbox'])
  console.log(`${name}: ${files.length} files`)
  if (process.argv.includes('--list')) for (const file of files) console.log(`  ${file}`)
}

function executedFiles(argv: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-coverage-'))
  const coverage = join(folder, 'coverage')
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', start, '--', ...argv],
      {
        cwd: folder,
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          MODELGATE_STATE_DIR: join(folder, 'state'),
          NODE_V8_COVERAGE: coverage,
        },
        encoding: 'utf8',
      },
    )
    if (status !== 0) throw new Error(`exit ${status}: ${stderr}`)
    const urls = readdirSync(coverage).flatMap((file) => {
      const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as {
        readonly result: readonly Script[]
      }
      return result.filter(hasRun).map(({ url }) => url)
    })
    const paths = urls
      .filter((url) => url.startsWith(source.href))
      .map((url) => url.slice(source.href.length))
    return [...new Set(paths)].filter((path) => !path.startsWith('sandbox/')).sort()
  } finally {
    rmSync(folder, { recursive: true })
  }
}
