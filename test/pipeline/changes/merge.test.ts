import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { mergeParts, resolveRun } from '../../../src/pipeline/changes/merge.ts'
import { accountOf, runBench, type Bench } from '../run/run-bench.ts'

const files = {
  'modelgate.yaml': `version: 1
jobs:
  hero: { image create: { model: image-model-a, prompt: A harbour }, out: assets/hero.png }
  note: { respond: { model: sandbox-text, input: What is this?, attach: "@hero" }, out: copy/note.txt }
  words:
    each: [one, two, three]
    respond: { model: sandbox-text, input: "Say \${id}" }
    out: copy/\${id}.txt
  choice:
    image create: { model: image-model-a, prompt: A flag }
    variants: 2
    out: assets/flag.png
`,
}

const bring = (from: Bench, to: Bench) =>
  cpSync(from.path('.modelgate/parts'), to.path('parts'), { recursive: true })

/** Runs each part on a machine of its own, and brings the parts to another one. */
async function runParts(total: number, options: Parameters<typeof runBench>[1] = {}) {
  const target = await runBench(files)
  let created = 0
  for (let index = 1; index <= total; index++) {
    const bench = await runBench(files, options)
    await bench.run({ shard: { index, total } })
    expect([bench.exists('modelgate.lock'), bench.exists('assets')]).toEqual([false, false])
    created += bench.sandbox.created()
    bring(bench, target)
  }
  return { ...target, created }
}

const merge = async ({ call }: Bench, folders = ['parts']) => accountOf(await mergeParts(call, folders))
const resolve = async ({ call }: Bench) => accountOf(await resolveRun(call))

/** What of a lock does not depend on when and where it was made. */
function lockedBy(bench: Bench) {
  const { $about: _, $version: __, ...blocks } = bench.lock()
  return Object.entries(blocks).map(([id, { key, outputs }]) => [id, key, outputs])
}

test.each([1, 2, 7])('%i parts come to what one run comes to', async (total) => {
  const whole = await runBench(files)
  await whole.run()
  const target = await runParts(total)
  expect(target.created).toBe(whole.sandbox.created())
  const { told, exit, document } = await merge(target)
  expect(told).toEqual([
    'hero: fresh (restored)',
    'note: fresh (restored)',
    'words[one]: fresh (restored)',
    'words[two]: fresh (restored)',
    'words[three]: fresh (restored)',
    'choice: awaiting (awaiting)',
  ])
  expect([exit, document!.command]).toEqual(['outdated', 'run merge'])
  expect(lockedBy(target)).toEqual(lockedBy(whole))
  expect(target.read('copy/two.txt')).toBe(whole.read('copy/two.txt'))
  // Nothing is made again here, and the candidates have come along.
  expect((await target.run()).told).toEqual((await whole.run()).told)
  expect(target.sandbox.created()).toBe(0)
})

test('what failed and what nobody knows are known behind the merge', async () => {
  const reset = { endpoint: 'image-generations', action: 'reset' } as const
  const refused = { endpoint: 'responses', action: 'status', status: 400 } as const
  const target = await runParts(2, { sandbox: { faults: [reset, refused] } })
  const { told, exit, document } = await merge(target)
  expect(told).toEqual([
    'hero: unknown (unknown)',
    'note: blocked',
    'words[one]: new (failed)',
    'words[two]: new (failed)',
    'words[three]: new (failed)',
    'choice: unknown (unknown)',
  ])
  expect(exit).toBe('unknown')
  expect(document!.instances[2]!.error).toMatchObject({ exit_code: 12, billed: 'no' })
  expect(await target.run({ jobs: ['hero', 'choice'] })).toMatchObject({ exit: 'unknown', created: 0 })
})

test('a part has what its project had before, and is merged where nothing is', async () => {
  const bench = await runBench(files)
  await bench.run({ jobs: ['choice'] })
  const picked = files['modelgate.yaml'].replace('variants: 2', 'variants: 2\n    pick: 2')
  bench.write('modelgate.yaml', picked)
  expect((await bench.run({ jobs: ['choice'], shard: { index: 1, total: 1 } })).created).toBe(2)
  const target = await runBench({ 'modelgate.yaml': picked })
  bring(bench, target)
  expect(await merge(target)).toMatchObject({ told: ['choice: fresh (restored)'], exit: 'ok' })
  expect(target.exists('assets/flag.png')).toBe(true)
})

test('a fan-out is merged where nobody has the text of its elements yet', async () => {
  const fanOut = {
    'scenes.json':
      '{ "const": [{ "id": "dawn", "title": "At dawn" }, { "id": "noon", "title": "At noon" }] }',
    'modelgate.yaml': `version: 1
jobs:
  scenes: { generate: { model: text-a, prompt: A storyboard, schema: scenes.json }, out: scenes.txt }
  frames:
    each: "@scenes"
    image create: { model: image-model-a, prompt: "\${title}" }
    out: \${id}.png
`,
  }
  const bench = await runBench(fanOut)
  await bench.run({ shard: { index: 1, total: 1 } })
  const target = await runBench(fanOut)
  bring(bench, target)
  const told = [
    'scenes: fresh (restored)',
    'frames[dawn]: fresh (restored)',
    'frames[noon]: fresh (restored)',
  ]
  expect(await merge(target)).toMatchObject({ told, exit: 'ok' })
  expect((await target.run({ mode: 'check' })).exit).toBe('ok')
})

test('parts that do not fit are refused, and nothing is written', async () => {
  const target = await runParts(2)
  await expect(merge(target, ['parts/1-of-2'])).rejects.toMatchObject({ exit: 'usage', code: 'lock_invalid' })
  expect(target.exists('modelgate.lock') || target.exists('assets') || target.exists('copy')).toBe(false)
  target.write('modelgate.yaml', files['modelgate.yaml'].replace('A harbour', 'A bay'))
  await expect(merge(target)).rejects.toThrow('was made from another manifest')
})

const manifest = (prompt: string) => `version: 1
jobs:
  one: { respond: { input: "${prompt}" }, out: one.txt }
  two: { respond: { input: "The other" }, out: two.txt }
`

/** Leaves a lock in which git could not put the block of `one` together, and tells what it was before. */
async function leaveConflict(bench: Bench): Promise<string> {
  await bench.run()
  const before = bench.read('modelgate.lock')
  const mark = (line: string) =>
    `<<<<<<< HEAD\n${line}\n=======\n${line.replace(/[0-9a-f]{64}/, '0'.repeat(64))}\n>>>>>>> theirs`
  bench.write('modelgate.lock', before.replace(/^.*"one":.*$/m, mark))
  expect((await bench.run({ mode: 'check' })).error?.code).toBe('lock_conflict')
  return before
}

test('of two sides the one is kept that the manifest asks for, and all is as before', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  const before = await leaveConflict(bench)
  const warnings = ['one is locked as this branch has it.']
  const document = { command: 'run merge', mode: 'run', states: { fresh: 2 }, warnings }
  expect(await resolve(bench)).toMatchObject({ exit: 'ok', document })
  expect(bench.read('modelgate.lock')).toBe(before)
})

test('what the manifest asks for on neither side is no longer locked, and exits 13', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  await leaveConflict(bench)
  bench.write('modelgate.yaml', manifest('Changed on both sides'))
  const warnings = ['one is not locked any more: the manifest asks for neither side.']
  expect(await resolve(bench)).toMatchObject({ exit: 'outdated', document: { warnings } })
  expect(Object.keys(bench.lock())).not.toContain('one')
})

/** Two branches have made `one` anew, committed it, and were merged; the clone has no results. */
async function mergeBranches(bench: Bench): Promise<void> {
  const git = (...words: string[]) =>
    spawnSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b', ...words], { cwd: bench.path('.') })
  const commit = async (prompt: string) => {
    bench.write('modelgate.yaml', manifest(prompt))
    await bench.run()
    git('add', '.')
    git('commit', '-m', prompt)
  }
  git('init', '-b', 'main')
  await commit('First')
  git('checkout', '-b', 'other')
  await commit('Theirs')
  git('checkout', 'main')
  await commit('Ours')
  git('merge', 'other')
  rmSync(bench.path('.modelgate'), { recursive: true })
}

test.each(['Ours', 'Theirs'])('after a merge of branches the committed file of %s is there', async (side) => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  await mergeBranches(bench)
  expect(bench.read('one.txt')).toContain('<<<<<<< HEAD')
  bench.write('modelgate.yaml', manifest(side))
  const created = bench.sandbox.created()
  expect(await resolve(bench)).toMatchObject({ exit: 'ok', document: { states: { fresh: 2 } } })
  expect(bench.read('one.txt')).toContain(side)
  expect(bench.sandbox.created()).toBe(created)
})

test('what version control does not have either is told, and nothing is offered for adoption', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifest('First') })
  await mergeBranches(bench)
  bench.write('modelgate.yaml', manifest('Theirs'))
  rmSync(bench.path('.git'), { recursive: true })
  // As the first side of the conflict has it.
  bench.write('one.txt', /<<<<<<< HEAD\n([^]*?)\s*=======/.exec(bench.read('one.txt'))![1]!)
  const needed = 'one.txt is needed as it was committed: git checkout --theirs -- one.txt, or --ours.'
  expect(await resolve(bench)).toMatchObject({
    exit: 'outdated',
    document: { warnings: expect.arrayContaining([needed]), left: [{ state: 'lost' }] },
  })
})

test('a lock without conflict markers is left alone', async () => {
  await expect(resolve(await runBench({ 'modelgate.yaml': manifest('First') }))).rejects.toMatchObject({
    exit: 'usage',
    message: 'modelgate.lock has no conflict markers.',
    facts: { next: ['modelgate', 'run', '--plan'] },
  })
})
