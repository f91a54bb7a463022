import { expect, test } from 'vitest'
import { readWorkerFlags, type WorkerFlags } from '../../../src/commands/run/run-flags.ts'
import { asModelgateError } from '../../../src/errors.ts'
import { runCall } from '../../support/run-call.ts'
import { sampleRunPush } from '../../support/run-samples.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const report = {
  jobs: [],
  files: [{ path: 'report.html', format: 'html' }],
  isPlaced: false,
  isForced: false,
  embeds: false,
  currency: null,
}
const outs = [
  { path: 'out/report.md', format: 'markdown' },
  { path: 'out/report.html', format: 'html' },
]
const one = [{ path: 'a.json', format: 'json' }]

test.each<[string, string, unknown]>([
  ['adopt hero photos*', 'adopt', [['hero', 'photos*']]],
  ['pick hero 2', 'pick', ['hero', 2]],
  ['pick photos[shoe] 1', 'pick', ['photos[shoe]', 1]],
  ['restore hero', 'restore', ['hero', undefined]],
  ['restore hero 1', 'restore', ['hero', 1]],
  ['clean', 'clean', [{ isRemoving: false, outputs: false }]],
  ['clean --yes --outputs', 'clean', [{ isRemoving: true, outputs: true }]],
  ['report', 'report', [report]],
  [
    'report hero --embed --format markdown,html -o out/ --force',
    'report',
    [{ ...report, jobs: ['hero'], files: outs, isPlaced: true, isForced: true, embeds: true }],
  ],
  ['report --format json -o a.json', 'report', [{ ...report, isPlaced: true, files: one }]],
  ['merge parts/1-of-2 parts/2-of-2', 'merge', [['parts/1-of-2', 'parts/2-of-2']]],
  ['merge --resolve', 'resolve', []],
  ['push --to .', 'push', [expect.objectContaining({ shown: '.' })]],
  ['pull --from .', 'pull', [expect.objectContaining({ shown: '.' })]],
  ['pull --from https://host/a?sig=x', 'pull', [expect.objectContaining({ shown: 'https://host/a/' })]],
])('run %s', async (words, what, options) => {
  const overrides = { cwd: temporaryFolder() }
  const { code, asked } = await runCall([...words.split(' '), '-f', 'canon.yaml', '--sandbox'], overrides)
  const call = expect.objectContaining({ file: 'canon.yaml', isSandbox: true }) as object
  expect([code, asked]).toEqual([0, [{ what, call, options }]])
})

test('the -f after the name of the command takes precedence', async () => {
  const { code, asked } = await runCall('-f a.yaml pick hero 2 -f b.yaml'.split(' '))
  expect([code, asked[0]?.call]).toEqual([0, expect.objectContaining({ file: 'b.yaml' })])
})

test('run report --since main', async () => {
  const { code, asked } = await runCall(['report', '--since', 'main'])
  expect([code, asked[0]?.options]).toEqual([0, [{ ...report, since: 'main' }]])
})

test.each([
  ['pick hero two', 'The number of the candidate must be a whole number from 1, not "two".'],
  ['pick hero 0', 'The number of the candidate must be a whole number from 1, not "0".'],
  ['merge', 'run merge needs the folders of the parts, or --resolve.'],
  ['merge --resolve a', 'Give either folders or --resolve, not both.'],
  ['report --format pdf', '--format must be one or more of html, markdown, json, not "pdf".'],
  ['report --format html,json -o a.html', '-o a.html names one file, and there are 2 formats.'],
  ['report --since main --sandbox', "option '--since <commit>' cannot be used with option '--sandbox'"],
  ['report -o -', 'A report is a file: -o - does not apply to run report.'],
  ['adopt hero --plan', "unknown option '--plan'"],
  ['pick hero 2 --max-creates 3', "unknown option '--max-creates'"],
  ['pull --from . --store s3://shelf', "unknown option '--store'"],
  ['push --to https://assets.example', 'A store cannot be at https://.'],
])('run %s is refused', async (words, problem) => {
  const { code, err, asked } = await runCall(words.split(' '))
  expect([code, err, asked]).toEqual([2, `${problem}\n`, []])
})

test.each<[string, out: string, err: string]>([
  ['adopt hero', 'assets/hero.webp\n', 'hero: locked\n'],
  ['pick hero 2', 'assets/hero.webp\n', 'hero: candidate 2 is the output\n'],
  ['pick hero 2 --quiet', 'assets/hero.webp\n', ''],
  [
    'restore hero',
    `1\t2026-11-22T12:00:00.000Z\tassets/hero.webp\t99\t${'0'.repeat(64)}\n`,
    'Give its number to bring one back.\n',
  ],
  ['restore hero 1', 'assets/hero.webp\n', 'hero: file 1 is the output, adopted\n'],
  ['clean', '.modelgate/replaced/00/0000\treplaced\t99\t\n', '1 file, 99 B: --yes removes it.\n'],
  ['push --to .', 'assets/hero.webp\n', '2 files: 1 new in s3://assets/shop, 1 already there\n'],
])('run %s has its result alone on standard output', async (words, out, err) => {
  expect(await runCall(words.split(' '), { cwd: temporaryFolder() })).toMatchObject({ code: 0, out, err })
})

test.each([
  ['restore hero', '  1  2026-11-22 12:00      99 B  assets/hero.webp\n'],
  ['clean', 'replaced       99 B  .modelgate/replaced/00/0000\n'],
])('run %s on a terminal', async (words, out) => {
  const overrides = { terminal: true, env: { NO_COLOR: '1' } }
  expect(await runCall(words.split(' '), overrides)).toMatchObject({ out })
})

const all = 'adopt hero|pick hero 2|restore hero|report|clean|merge a|push --to .|pull --from .'.split('|')

test.each(all)('run %s prints its document with --json', async (words) => {
  const { out } = await runCall([...words.split(' '), '--json'], { cwd: temporaryFolder() })
  expect(JSON.parse(out)).toMatchObject({ version: 1, command: `run ${words.split(' ')[0]}` })
})

test('to push what is not here is an error', async () => {
  const cwd = temporaryFolder()
  const files = sampleRunPush.files.map((file) => ({ ...file, state: 'missing' as const }))
  const push = { ...sampleRunPush, files }
  expect(await runCall(['push', '--to', '.', '--quiet'], { cwd }, undefined, push)).toMatchObject({
    code: 13,
    out: '',
    err: 'The locked bytes of 2 files are not on this machine: assets/hero.webp, assets/logo.webp.\n',
  })
  const empty = await runCall(['push', '--to', '.'], { cwd }, undefined, { ...push, files: [] })
  expect([empty.code, empty.err]).toEqual([0, 'The lock names no files.\n'])
})

test('a store to pull from that is none is an error of the run', async () => {
  const { code, err, asked } = await runCall(['pull', '--from', 'https://me:SECRET@host'])
  expect([code, asked]).toEqual([2, []])
  expect(err).toContain('The address of the store at host has a user name or a password in it.')
  expect(err).not.toContain('SECRET')
})

const read = async (flags: Partial<WorkerFlags>) => readWorkerFlags({ validate: true, stdin: true, ...flags })
const refusal = (flags: Partial<WorkerFlags>) =>
  read(flags).then(
    () => 'taken',
    (error: unknown) => asModelgateError(error, false).message,
  )

test('without flags a worker has the places of a run on one machine', async () => {
  const places = { text: 8, image: 4, video: 2 }
  expect(await read({})).toEqual({ places, rate: null, graceS: 5, untilEmpty: false })
})

test('what is wrong is told at once', async () => {
  expect(await refusal({ lanes: 'texts=3', rate: '20', grace: '-1' })).toBe(
    [
      '--lanes must say how many requests at once, up to 1000, such as text=16,image=4,video=0, not "texts=3".',
      '--rate must be a number of requests in a second or a minute, such as 20/s or 600/m, not "20".',
      '--grace must be a number of seconds from 0 to 600, not "-1".',
    ].join('\n'),
  )
})

const notLanes = ['', 'text', 'text=', 'text=1001', 'text=1,text=2', 'text=1,', 'constructor=1', '=1']

test.each<[Partial<WorkerFlags>, RegExp]>([
  ...notLanes.map((lanes) => [{ lanes }, /^--lanes must say/] as [object, RegExp]),
  ...['0/s', '20/h', '1.5/s', '20/s/s', '-1/s', ''].map(
    (rate) => [{ rate }, /^--rate must be/] as [object, RegExp],
  ),
  [{ lanes: 'text=0,image=0,video=0' }, /^With these --lanes the worker would take nothing\.$/],
])('%j is refused', async (flags, message) => {
  expect(await refusal(flags)).toMatch(message)
})
