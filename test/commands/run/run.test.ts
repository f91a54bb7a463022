import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import type { RunDocument, RunInstance } from '../../../src/events/run-document.ts'
import type { RunCall, RunOptions } from '../../../src/pipeline/run/run-state.ts'
import { questionTerminal } from '../../support/question-terminal.ts'
import { runCall, type FakeEngine } from '../../support/run-call.ts'
import { sampleInstance, sampleRun, sampleRunEvents, stateCounts } from '../../support/run-samples.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'
import { runMain } from '../../support/run-main.ts'

const wordsOf = (line: string) => line.split(' ').filter(Boolean)

async function optionsOf(line: string, overrides?: TestOverrides): Promise<RunOptions> {
  const { asked, err } = await runCall(wordsOf(line), overrides)
  if (asked[0] === undefined) throw new Error(err)
  return asked[0].options as RunOptions
}

const usual = {
  jobs: [],
  mode: 'run',
  regenerate: undefined,
  force: undefined,
  newRun: undefined,
  maxCreates: undefined,
  maxCost: undefined,
  graceS: 5,
  timeoutS: undefined,
  shard: null,
  detach: undefined,
}

test.each<[string, Partial<RunOptions>]>([
  ['', {}],
  ['hero photos*', { jobs: ['hero', 'photos*'] }],
  ['--plan', { mode: 'plan' }],
  ['--check', { mode: 'check' }],
  ['--frozen --force', { mode: 'frozen', force: true }],
  ['--generate', {}],
  ['--plan --regenerate hero --force', { mode: 'plan', regenerate: ['hero'], force: true }],
  ['--regenerate hero --regenerate b[1]', { regenerate: ['hero', 'b[1]'] }],
  ['--new-run --yes', { newRun: true }],
  ['--max-creates 40 --max-cost 2.5', { maxCreates: 40, maxCost: 2_500_000_000_000_000_000n }],
  ['--grace 0.5 --timeout 600', { graceS: 0.5, timeoutS: 600 }],
  ['--shard 2/5', { shard: { index: 2, total: 5 } }],
  ['--queue redis://host --store . --detach', { detach: true }],
])('run %s', async (words, expected) => {
  expect(await optionsOf(words)).toMatchObject({ ...usual, ...expected })
})

test.each<[string, string, RunOptions['mode']]>([
  ['true', '', 'frozen'],
  ['1', '--force', 'frozen'],
  ['true', '--plan', 'plan'],
  ['true', '--check', 'check'],
  ['true', '--generate', 'run'],
  ['true', '--generate --regenerate hero', 'run'],
  ['false', '', 'run'],
  ['0', '', 'run'],
])('with CI=%s, run %s is %s', async (CI, words, mode) => {
  expect((await optionsOf(words, { env: { CI } })).mode).toBe(mode)
})

const neither = (one: string, other: string) => `option '${one}' cannot be used with option '${other}'`

test.each<[words: string, problems: string[], env?: Record<string, string>]>([
  ['--plan --check', [neither('--plan', '--check')]],
  ['--plan --generate', [neither('--plan', '--generate')]],
  ['--check --frozen', [neither('--check', '--frozen')]],
  ['--check --regenerate hero', [neither('--check', '--regenerate <job>')]],
  ['--check --force', [neither('--check', '--force')]],
  ['--plan --new-run', [neither('--plan', '--new-run')]],
  ['--frozen --regenerate hero', [neither('--frozen', '--regenerate <job>')]],
  ['--plan --detach', [neither('--plan', '--detach')]],
  ['--new-run', ['--new-run needs --generate: where CI is set, nothing'], { CI: 'true' }],
  [
    '--shard 6/5 --grace long --max-creates x',
    [
      '--max-creates must be a whole number from 0, not "x".',
      '--grace must be a number of seconds from 0 to 600, not "long".',
      '--shard must be a part and the number of parts, such as 2/5, not "6/5".',
    ],
  ],
  ['--shard 0/5', ['--shard must be a part and the number of parts, such as 2/5, not "0/5".']],
  ['--detach', ['--detach needs a queue: give --queue, or set MODELGATE_QUEUE.']],
  ['--store .', ['--store needs a queue: give --queue, or set MODELGATE_QUEUE.']],
  ['--queue redis://host --store . --shard 1/2', ['--shard and a queue cannot be used together: ']],
  [
    '--queue ftp://user:secret@host',
    ['A queue cannot be at a URL with ftp://. A queue is on', 'No store was given: pass --store, or set'],
  ],
  ['', ['No store was given: pass --store, or set'], { MODELGATE_QUEUE: 'redis://host' }],
  ['--dry-run', ["unknown option '--dry-run'", '(Did you mean --new-run?)']],
  ['-m gpt-image-2', ["unknown option '-m'"]],
  ['-o a.png', ["unknown option '-o'"]],
])('run %s is refused, and nothing is run', async (words, problems, env = {}) => {
  const { code, err, asked } = await runCall(wordsOf(words), { env })
  expect([code, asked, err]).toEqual([2, [], expect.not.stringContaining('secret')])
  const starts = problems.map((start) => expect.stringContaining(start) as string)
  expect(err.trimEnd().split('\n')).toEqual(starts)
})

test('commands that are told next name the queue, without its password, unless the environment has it', async () => {
  const words = ['--queue', 'redis://user:secret@host:6379/2', '--store', 's3://bucket/x']
  const { asked } = await runCall(words)
  const { generating, queue } = asked[0]!.call as RunCall
  const shown = ['--queue', 'redis://host:6379/2', '--store', 's3://bucket/x']
  expect([generating, queue!.worker]).toEqual([shown, ['modelgate', 'run', 'worker', ...shown]])
  const env = { MODELGATE_QUEUE: 'redis://:secret@host', MODELGATE_STORE: '/srv/store' }
  const other = await runCall(['--sandbox'], { env })
  expect((other.asked[0]!.call as RunCall).generating).toEqual([])
  expect((other.asked[0]!.call as RunCall).queue!.worker.at(-1)).toBe('--sandbox')
})

const stale: RunInstance = {
  ...sampleInstance,
  state: 'stale',
  action: null,
  creates: 4,
  reasons: ['`prompt` changed.', '`size` changed.'],
}
const planned: RunDocument = {
  ...sampleRun,
  mode: 'plan',
  instances: [stale, { ...sampleInstance, instance: 'banner' }],
  states: stateCounts({ stale: 1, fresh: 1 }),
  creates: { planned: 4, made: 0, limit: 40 },
  left: [],
  orphans: [],
}
const withDocument =
  (document: RunDocument, failure?: ModelgateError): FakeEngine =>
  async () => ({ kind: 'ended', document, failure })

test('a plan is the result: for scripts a line for each instance, with tabs', async () => {
  expect(await runCall(['--plan'], {}, withDocument(planned))).toMatchObject({
    code: 0,
    out: 'stale\thero\t4\tassets/hero.webp\t`prompt` changed. `size` changed.\n',
    err: '2 instances: 1 fresh, 1 stale\n4 to create, about 0.08 USD by estimate, 0 of 40 used\n',
  })
})

const outdated = new ModelgateError('outdated', 'not_up_to_date', '1 of 2 instances is not up to date.', {
  next: ['modelgate', 'run'],
  hint: 'Bring it up to date with: modelgate run',
  billed: 'no',
})

test('a check that fails shows what is not fresh, and exits 13', async () => {
  const document = { ...planned, mode: 'check' as const, creates: { planned: 0, made: 0, limit: null } }
  const { code, out, err } = await runCall(['--check'], {}, withDocument(document, outdated))
  expect([code, out.split('\t')[1]]).toEqual([13, 'hero'])
  expect(err).toBe(
    '2 instances: 1 fresh, 1 stale\n' +
      'modelgate: 1 of 2 instances is not up to date.\n' +
      '  hint: Bring it up to date with: modelgate run\n',
  )
})

test('--json prints the document, also of a run that failed', async () => {
  const { code, out } = await runCall(['--json'], {}, withDocument(planned, outdated))
  expect([code, JSON.parse(out)]).toEqual([13, planned])
})

test('--jsonl begins with start and ends with the document', async () => {
  const engine: FakeEngine = async ({ listener }) => {
    listener.event({ type: 'start', version: 1, command: 'run', model: null })
    listener.event(sampleRunEvents['plan-make'])
    return { kind: 'ended', document: sampleRun }
  }
  const { out } = await runCall(['--jsonl'], {}, engine)
  const lines = out.trimEnd().split('\n')
  const types = lines.map((line) => (JSON.parse(line) as { readonly type: string }).type)
  expect(types).toEqual(['start', 'plan-make', 'end'])
})

/** Asks before it creates so many. */
const asking =
  (creates: number, answers: boolean[]): FakeEngine =>
  async (_, { confirm }) => {
    answers.push(await confirm({ creates, elements: 0, sources: [], estimate: sampleRun.estimate }))
    return { kind: 'ended', document: sampleRun }
  }

test.each([
  ['y', true],
  ['n', false],
])('on a terminal more than 20 creations are confirmed (%s)', async (key, expected) => {
  const terminal = questionTerminal()
  const answers: boolean[] = []
  const run = runCall([], terminal.overrides, asking(21, answers))
  await terminal.until('Create 21 results, about 0.08 USD by estimate?')
  terminal.press(`${key}\r`)
  await run
  expect(answers).toEqual([expected])
})

test.each<[string, number, readonly string[], TestOverrides]>([
  ['about 20', 20, [], questionTerminal().overrides],
  ['with --yes', 21, ['--yes'], questionTerminal().overrides],
  ['with the sandbox', 21, ['--sandbox'], questionTerminal().overrides],
  ['with --no-input', 21, ['--no-input'], questionTerminal().overrides],
  ['in CI', 21, [], { ...questionTerminal().overrides, env: { CI: '1' } }],
  ['without a terminal', 21, [], {}],
])('nobody is asked %s', async (_, creates, words, overrides) => {
  const answers: boolean[] = []
  await runCall(words, overrides, asking(creates, answers))
  expect(answers).toEqual([true])
})

test('no gateway is configured, and none is needed until something is sent', async () => {
  expect((await runCall(['--plan'], {}, withDocument(planned))).code).toBe(0)
  const { code, err } = await runCall([], {}, async ({ connect }) => {
    await connect()
    return { kind: 'ended', document: sampleRun }
  })
  expect([code, err]).toEqual([2, expect.stringContaining('No gateway is set up yet.')])
})

test('the sandbox is started once it is needed, and closed; the limits of the run are not those of a call', async () => {
  let address = ''
  const engine: FakeEngine = async ({ connect }) => {
    const shared = await connect()
    address = shared.gateway.baseUrl.href
    await shared.newSpending().admit({ model: null, count: 3, of: 'image' })
    expect((await fetch(new URL('/v1/models', address))).status).toBe(401)
    return { kind: 'ended', document: sampleRun }
  }
  const cwd = temporaryFolder()
  const { code } = await runCall(['--sandbox', '--max-creates', '1'], { cwd, home: cwd }, engine)
  expect(code).toBe(0)
  await expect(fetch(address)).rejects.toThrow('fetch failed')
})

test('what an engine throws is reported, and was not billed before anything was sent', async () => {
  const { code, err } = await runCall(['--json'], {}, () => Promise.reject(new Error('torn')))
  expect([code, JSON.parse(err)]).toMatchObject([1, { error: { exit_code: 1, billed: 'no' } }])
})

test('a step of GitHub Actions gets a summary and outputs: each on one line, with no secret in it', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { summary: 'before\n', output: '' })
  const [GITHUB_STEP_SUMMARY, GITHUB_OUTPUT] = [join(cwd, 'summary'), join(cwd, 'output')]
  const key = 'the-canary-key-of-this-run'
  const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY, GITHUB_OUTPUT, MODELGATE_API_KEY: key }
  const message = `no\nfiles=[]\nx<<EOF\n::error::${key}`
  const error = { code: 'http_500', exit_code: 7, billed: 'maybe', message } as const
  const lost: RunInstance = { ...sampleInstance, instance: 'b', action: 'unknown', files: [], error }
  const document = { ...planned, instances: [stale, lost] }
  const { code } = await runCall(['--check'], { cwd, env }, withDocument(document, outdated))
  expect([code, readFileSync(GITHUB_STEP_SUMMARY, 'utf8')]).toEqual([
    13,
    expect.stringMatching(/^before\n[^]/),
  ])
  expect(readFileSync(GITHUB_OUTPUT, 'utf8')).toBe(
    'up_to_date=false\ncreated=0\nfailed=1\nleft=1\nplanned=4\nestimate=0.08\ncost=\n' +
      `files=["${cwd}/assets/hero.webp"]\n` +
      'failures=[{"instance":"b","code":"http_500","exit_code":7,"billed":"maybe",' +
      '"message":"no\\nfiles=[]\\nx<<EOF\\n::error::[hidden]"}]\n',
  )
})

test('run init writes a manifest that runs in the sandbox at once', async () => {
  const cwd = temporaryFolder()
  const first = expect.stringContaining('Write one with modelgate run init') as string
  expect(await runMain(['run'], { cwd })).toMatchObject({ code: 2, err: first })
  expect(await runMain(['run', 'init'], { cwd })).toMatchObject({
    code: 0,
    out: 'modelgate.yaml\n',
    err: 'It has three jobs. Try them: modelgate run --sandbox\n',
  })
  const err = '4 instances: 1 new, 3 pending\n4 to create, 0 of 20 used\n'
  expect(await runMain(['run', '--sandbox', '--plan'], { cwd })).toMatchObject({ code: 0, err })
})

test('run init replaces no manifest, unless it is told to', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'canon.yaml': 'mine' })
  const { code, err } = await runMain(['run', 'init', '-f', 'canon.yaml'], { cwd })
  expect([code, readFileSync(join(cwd, 'canon.yaml'), 'utf8')]).toEqual([10, 'mine'])
  expect(err).toContain('canon.yaml" already exists')
  expect((await runMain(['run', 'init', '-f', 'canon.yaml', '--force'], { cwd })).code).toBe(0)
})

test('what follows -- is a job, also with the name of a subcommand', async () => {
  const cwd = temporaryFolder()
  const job = 'report: { respond: { model: m, input: Hi }, out: a.txt }'
  writeFiles(cwd, { 'modelgate.yaml': `version: 1\njobs:\n  ${job}\n` })
  const { code, out, err } = await runMain(['run', '--plan', '--', 'report'], { cwd })
  expect([code, out]).toEqual([0, 'new\treport\t1\ta.txt\t\n'])
  expect(err).toContain('run it alone as `run -- report`')
})

test.each([
  ['plan', '--plan'],
  ['status', '--check'],
])('run %s names the flag', async (word, flag) => {
  const cwd = temporaryFolder()
  await runMain(['run', 'init'], { cwd })
  const { code, err } = await runMain(['run', word], { cwd })
  expect(code).toBe(2)
  expect(err).toContain(`There is no job "${word}". Did you mean the flag ${flag}?`)
})
