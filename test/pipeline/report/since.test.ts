import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { commitAll, git } from '../../support/git-repository.ts'
import { expectPublished } from '../../support/published-documents.ts'
import { runBench, type Bench } from '../run/run-bench.ts'
import { formats, reportIn, writeReport } from './sample-report.ts'

/** A manifest of texts. @param jobs their inputs, by the names of the jobs */
function manifestOf(jobs: Readonly<Record<string, string>>): string {
  const lines = Object.entries(jobs).map(
    ([name, input]) => `  ${name}: { respond: { model: m, input: ${input} }, out: copy/${name}.txt }\n`,
  )
  return `version: 1\njobs:\n${lines.join('')}`
}

/** A repository with a commit in which the jobs are made, on a branch of its own after it. */
async function branchBench(jobs: Readonly<Record<string, string>>): Promise<Bench> {
  const bench = await runBench({ 'modelgate.yaml': manifestOf(jobs), '.gitignore': 'report.*' })
  git(bench.folder, 'init', '--quiet', '-b', 'main')
  await bench.run()
  commitAll(bench.folder)
  git(bench.folder, 'checkout', '--quiet', '-b', 'feature')
  return bench
}

/** Makes what the jobs are now, commits it, and forgets what no checkout has. */
async function change(bench: Bench, jobs: Readonly<Record<string, string>>): Promise<void> {
  bench.write('modelgate.yaml', manifestOf(jobs))
  await bench.run()
  commitAll(bench.folder)
  rmSync(bench.path('.modelgate'), { recursive: true })
}

async function reportSince(bench: Bench, since: string, file?: string) {
  const { warnings } = await writeReport(bench, { files: formats, since }, { file })
  const report = reportIn(bench)
  /** The assets that are shown, each with the paths where its bytes of then lie. */
  const shown = report.assets.map(({ id, before }) => [id, ...before.map(({ stored }) => stored)])
  return { warnings, since: report.since!, shown, html: bench.read('report.html') }
}

/** Among what was put aside, by the digest. */
const keptText = (bytes: string) => {
  const digest = hash('sha256', bytes)
  return `.modelgate/replaced/${digest.slice(0, 2)}/${digest}`
}

test('what a branch changed is shown beside what it was, from the objects of Git', async () => {
  const bench = await branchBench({ hero: 'Old', same: 'Same', gone: 'Gone', former: 'Moved' })
  const [hero, gone, former] = ['hero', 'gone', 'former'].map((name) => bench.read(`copy/${name}.txt`))
  git(bench.folder, 'rm', '--quiet', 'copy/gone.txt')
  await change(bench, { hero: 'New', same: 'Same', later: 'Moved', extra: 'Extra' })
  const base = git(bench.folder, 'rev-parse', 'main')
  // What the other branch does meanwhile is not a change of this one.
  git(bench.folder, 'checkout', '--quiet', 'main')
  await change(bench, { hero: 'Old', same: 'Another', gone: 'Gone', former: 'Moved' })
  git(bench.folder, 'checkout', '--quiet', 'feature')
  const { since, shown, html } = await reportSince(bench, 'main')
  expectPublished(['--json'], { out: bench.read('report.json'), err: '' })
  expect(shown).toEqual([['hero', keptText(hero!)], ['later', keptText(former!)], ['extra']])
  expect(since).toMatchObject({
    name: 'main',
    commit: base,
    changed: 2,
    added: 1,
    unchanged: 1,
    removed: [{ id: 'gone', files: [{ path: 'copy/gone.txt', stored: keptText(gone!) }] }],
  })
  expect(bench.read(keptText(hero!))).toBe(hero)
  expect(html).toMatch(
    /<p dir="auto">2 changed, 1 added, 1 removed, 1 unchanged since main \([0-9a-f]{12}\)</,
  )
  expect(html).toContain(hero!.slice(0, 40))
  expect(html).toMatch(/<h2>Removed [^]*<h3 dir="auto">gone<\/h3>[^]*<b>Before<\/b>/)
  expect(bench.read('report.md')).toMatch(/## Removed \(1\)[^]*<code>gone<\/code>/)
})

test('a manifest of any name in a folder of any name, and a text that was committed with CR LF', async () => {
  const folder = process.platform === 'win32' ? "it's my dir" : `it's "my"\ndir`
  const file = `${folder}/canon.yaml`
  const job = `a: { respond: { model: m, input: Old }, out: "it's a b.txt" }`
  const bench = await runBench({ [file]: `version: 1\njobs:\n  ${job}\n` })
  const output = `${folder}/it's a b.txt`
  git(bench.folder, 'init', '--quiet', '-b', 'main')
  await bench.run({}, { file })
  const old = bench.read(output)
  const withLines = `${old}\nmore\n`
  const lock = bench.read(`${folder}/canon.lock`)
  bench.write(`${folder}/canon.lock`, lock.replace(hash('sha256', old), hash('sha256', withLines)))
  bench.write(output, withLines.replaceAll('\n', '\r\n'))
  commitAll(bench.folder)
  bench.write(file, bench.read(file).replace('Old', 'New'))
  await bench.run({}, { file })
  rmSync(bench.path(`${folder}/.modelgate`), { recursive: true })
  expect((await reportSince(bench, 'HEAD', file)).shown).toEqual([['a', keptText(withLines)]])
})

test.each<[string, string | undefined]>([
  ['a pointer of Git LFS', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4\n'],
  ['other bytes', 'edited'.repeat(1000)],
  ['nothing', undefined],
])('where %s was committed in place of the output, it is said to be elsewhere', async (_, committed) => {
  const bench = await branchBench({ hero: 'Old' })
  if (committed === undefined) rmSync(bench.path('copy/hero.txt'))
  else bench.write('copy/hero.txt', committed)
  git(bench.folder, 'add', '--all')
  git(bench.folder, 'commit', '--quiet', '--amend', '-m', 'x')
  bench.write('modelgate.yaml', manifestOf({ hero: 'New' }))
  await bench.run({ force: true })
  rmSync(bench.path('.modelgate'), { recursive: true })
  const { shown, html } = await reportSince(bench, 'HEAD')
  expect(shown).toEqual([['hero', null]])
  expect(html).toContain('The file is not here</p><figcaption><b>Before</b> <span dir="auto">copy/hero.txt')
})

test('what is no commit is refused, and no option of Git', async () => {
  const bench = await branchBench({ hero: 'Old' })
  const names = ['nothing', '--output=x', '--all', '', '^main', 'main..HEAD', 'HEAD^{tree}', 'main@{9}']
  for (const name of names) {
    await expect(reportSince(bench, name)).rejects.toMatchObject({
      exit: 'usage',
      code: 'unknown_id',
      message: `There is no commit ${JSON.stringify(name)} here.`,
    })
  }
  expect(bench.list('.')).not.toContain('x')
})

test('without Git, and outside of a repository, it is said what is needed', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifestOf({ hero: 'Old' }) })
  const refusal = (message: string) => ({
    exit: 'usage',
    code: 'usage',
    message: expect.stringContaining(`Git cannot read the commit "main": ${message}`),
    facts: { hint: '--since needs Git, and a manifest in a Git repository.' },
  })
  await expect(reportSince(bench, 'main')).rejects.toMatchObject(refusal('fatal: not a git repository'))
  vi.stubEnv('PATH', bench.path('bin'))
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(reportSince(bench, 'main')).rejects.toMatchObject(refusal('spawn git ENOENT'))
})

test('without a lock in that commit every asset is new', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifestOf({ hero: 'Old' }) })
  git(bench.folder, 'init', '--quiet', '-b', 'main')
  commitAll(bench.folder)
  await bench.run()
  const { warnings, shown, since } = await reportSince(bench, 'main')
  expect(warnings).toEqual(['modelgate.lock is not in main: every asset is new.'])
  expect([shown, since.added]).toEqual([[['hero']], 1])
})

const conflict = '<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n'

test.each([
  ['{', 'lock_invalid', ':1:2: the lock is not valid JSON: '],
  [conflict, 'lock_conflict', ':1: the lock has conflict markers of a merge.'],
])('a lock of that commit that cannot be read is named: %j', async (text, code, problem) => {
  const bench = await branchBench({ hero: 'Old' })
  const lock = bench.read('modelgate.lock')
  bench.write('modelgate.lock', text)
  const id = commitAll(bench.folder)
  bench.write('modelgate.lock', lock)
  await expect(reportSince(bench, 'HEAD')).rejects.toMatchObject({
    exit: 'usage',
    code,
    message: expect.stringContaining(`${id.slice(0, 12)}:modelgate.lock${problem}`),
    facts: { hint: 'It is the lock that --since compares with: name another commit.' },
  })
  expect(bench.exists('report.json')).toBe(false)
})

test('in a shallow clone a commit is compared with itself', async () => {
  const bench = await branchBench({ hero: 'Old' })
  await change(bench, { hero: 'New' })
  const origin = bench.path('origin.git')
  git(bench.folder, 'clone', '--quiet', '--bare', '.', origin)
  rmSync(bench.path('.git'), { recursive: true })
  git(bench.folder, 'init', '--quiet')
  git(bench.folder, 'fetch', '--quiet', '--depth=1', `file://${origin}`, 'feature', 'main:main')
  git(bench.folder, 'checkout', '--quiet', '--force', 'FETCH_HEAD')
  const { warnings, shown } = await reportSince(bench, 'main')
  expect(warnings).toEqual([
    'Where HEAD and main parted is not known here: compared with main itself. In a shallow clone, git fetch --unshallow gets the history.',
  ])
  expect(shown).toEqual([['hero', expect.stringContaining('.modelgate/replaced/')]])
})
