import { readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { boundaryProblems, ceilings } from './support/boundary-rules.ts'
import { importCircles } from './support/import-circles.ts'
import { sourceFacts } from './support/source-facts.ts'

const source = join(import.meta.dirname, '../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
  .map((name) => name.replaceAll('\\', '/'))
  .sort()

/** What each file imports of the others. */
const needs = new Map(
  files.map((path) => {
    const { imports } = sourceFacts(readFileSync(join(source, path), 'utf8'))
    const own = imports.filter((name) => name.startsWith('.'))
    return [path, own.map((name) => posix.join(posix.dirname(path), name))] as const
  }),
)

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').length - 1

test('imports point one way, and only context.ts touches the process', () => {
  expect(files).toContain('context.ts')
  expect(files.flatMap((path) => boundaryProblems(path, readFileSync(join(source, path), 'utf8')))).toEqual(
    [],
  )
})

// A reader can begin with the file that needs no other, and never has to know two at once; types count.
test('no file needs another that needs it', () => {
  expect(importCircles(needs)).toEqual([])
})

test('the folders of the pipeline stand on each other in this order', () => {
  const order = 'lock store journal manifest execute plan schedule shards queue run changes report'.split(' ')
  // What lies beside the folders is for all of them.
  const floorOf = (path: string) => order.indexOf(path.split('/')[1]!)
  const up = files
    .filter((path) => path.startsWith('pipeline/'))
    .flatMap((path) =>
      needs
        .get(path)!
        .filter((need) => need.startsWith('pipeline/') && floorOf(need) > floorOf(path))
        .map((need) => `${path} imports ${need}`),
    )
  expect(up).toEqual([])
  expect(new Set(files.filter((path) => path.startsWith('pipeline/') && floorOf(path) === -1))).toEqual(
    new Set(['pipeline/project.ts', 'pipeline/run-exit.ts', 'pipeline/stop.ts']),
  )
})

// What lies in no folder counts as "files". Lower a ceiling with what you take out; to raise one takes a commit of its own
// that says what for.
test.each(Object.entries(ceilings))('no folder of %s has more lines than its ceiling', (root, most) => {
  const lines: Record<string, number> = {}
  for (const name of readdirSync(join(source, '..', root), { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:ts|css)$/.test(name)) continue
    const [folder, ...below] = name.split(/[/\\]/)
    const place = below.length === 0 ? 'files' : folder!
    lines[place] = (lines[place] ?? 0) + linesOf(join(source, '..', root, name))
  }
  const above = Object.entries(lines).filter(([place, count]) => count > (most[place] ?? 0))
  expect(above).toEqual([])
})

// A helper with one user lives in its user's file.
test('no file is a few lines for a single other one', () => {
  const isCommand = (path: string) => /^commands\/(?!shared\/)/.test(path)
  const users = (path: string) => [...needs.values()].filter((names) => names.includes(path)).length
  const short = files.filter(
    (path) => !isCommand(path) && linesOf(join(source, path)) < 30 && users(path) === 1,
  )
  expect(short).toEqual([])
})

// What else is printed goes through the gate of the outputs, which takes secrets out.
test('only these write to a standard stream themselves: media, the gate, and words of our own', () => {
  const writers = files.filter((path) =>
    /\bstd(?:out|err)\.write\(/.test(readFileSync(join(source, path), 'utf8')),
  )
  expect(writers.filter((path) => !path.startsWith('output/'))).toEqual([
    'commands/chat.ts',
    'commands/completion.ts',
    'commands/help.ts',
    'commands/jobs.ts',
    'commands/log.ts',
    'commands/sandbox.ts',
    'commands/shared/call/dry-run.ts',
    'commands/shared/call/print-document.ts',
    'commands/shared/call/run-operation.ts',
    'commands/shared/gateway/open-gateway.ts',
    'commands/shared/request/text-prompt.ts',
    'commands/shared/text/text-command.ts',
    'commands/video.ts',
    'commands/wait.ts',
    'files/stream-media.ts',
    'program.ts',
  ])
})

describe('the check sees', () => {
  test('a circle', () => {
    const needs = { 'a.ts': ['b.ts'], 'b.ts': ['c.ts', 'd.ts'], 'c.ts': [], 'd.ts': ['b.ts'] }
    expect(importCircles(new Map(Object.entries(needs)))).toEqual([['b.ts', 'd.ts', 'b.ts']])
  })

  test.each<[string, string, string]>([
    [
      'gateway/a.ts',
      `import { x } from '../output/x.ts'`,
      'gateway/a.ts imports output/x.ts: gateway -> output',
    ],
    [
      'commands/a/b.ts',
      `import type { X } from '../../program.ts'`,
      'commands/a/b.ts imports program.ts: commands -> program',
    ],
    ['files/a.ts', `await import('../config/x.ts')`, 'files/a.ts imports config/x.ts: files -> config'],
    ['errors.ts', `type X = import('./files/x.ts').X`, 'errors.ts imports files/x.ts: errors -> files'],
    ['gateway/a.ts', `import { Command } from 'commander'`, 'imports commander, which gateway must not know'],
    ['commands/a.ts', `await import('ora')`, 'imports ora, which commands must not know'],
    ['sandbox/a.ts', `import x from '@new/thing/x'`, 'imports @new/thing/x, which sandbox must not know'],
    ['config/a.ts', `import { env } from 'node:process'`, 'imports node:process; only context.ts may'],
    ['config/a.ts', `const { env } = process`, 'uses process; only context.ts may'],
    ['output/a.ts', `console.log('x')`, 'uses console; only context.ts may'],
    ['gateway/a.ts', `run({ fetch })`, 'uses fetch; only context.ts may'],
    ['sandbox/a.ts', `const at = Date.now()`, 'uses Date.now; only context.ts may'],
    ['operations/a.ts', `if (stdout.isTerminal) show()`, 'uses isTerminal, which operations must not know'],
    ['gateway/a.ts', `const { stderr } = context`, 'uses stderr, which gateway must not know'],
    ['operations/a.ts', `const code = error.exitCode`, 'uses exitCode, which operations must not know'],
    ['operations/a.ts', `const f = (context: Context) => 0`, 'takes the whole Context'],
  ])('in %s: %s', (path, text, problem) => {
    expect(boundaryProblems(path, text)).toEqual([expect.stringContaining(problem)])
  })

  test('a file that has grown too long', () => {
    expect(boundaryProblems('sandbox/a.ts', 'x\n'.repeat(601))).toEqual([
      'sandbox/a.ts has 601 lines, more than 600',
    ])
    expect(boundaryProblems('sandbox/a.ts', 'x\n'.repeat(600))).toEqual([])
  })

  test.each<[string, string]>([
    ['commands/a.ts', `import { x } from '../gateway/x.ts'\nimport { y } from './shared/y.ts'`],
    ['config/a.ts', `import { x } from '../files/x.ts'\nimport { join } from 'node:path'`],
    ['context.ts', `process.exitCode = console.x + Date.now()`],
    [
      'output/a.ts',
      `// process.exit()\nconst text = 'fetch(url)' + event.process + at({ console: 1 }).fetch`,
    ],
    ['operations/a.ts', `const f = (context: Pick<Context, 'cwd'>) => context.stdout // stdin`],
  ])('nothing wrong in %s: %s', (path, text) => {
    expect(boundaryProblems(path, text)).toEqual([])
  })
})
