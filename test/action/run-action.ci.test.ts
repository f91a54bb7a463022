import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commitAll, git } from '../support/git-repository.ts'
import { until } from '../support/running-sandbox.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { findOnPath, version } from './runner.ts'
import { manifestOf, scene, three } from './scene.ts'

test('from a clean checkout to files, summary, contact sheet and store', async () => {
  const { services, machine, job, pictures } = await scene()
  const { exit, log, outputs, summary, path, post } = await job()
  expect([exit, log, post.exit]).toEqual([0, expect.stringContaining('3 instances: 3 fresh'), 0])
  const files = ['anchor', 'boat', 'crane'].map((name) => join(machine.workspace, `icons/${name}.png`))
  expect({ ...outputs, files: (JSON.parse(outputs['files']!) as string[]).toSorted() }).toEqual({
    version,
    mode: 'generate',
    cache_hit: 'false',
    up_to_date: 'true',
    created: '3',
    planned: '3',
    failed: '0',
    left: '0',
    estimate: '',
    cost: '',
    files,
    failures: '[]',
    exit_code: '0',
    report: join(machine.root, 'temp/modelgate-__modelgate_modelgate-1/contact-sheet.html'),
    report_url: 'https://github.com/shop/site/actions/runs/1/artifacts/1',
  })
  expect(pictures()).toEqual(['icons/anchor.png', 'icons/boat.png', 'icons/crane.png'])
  expect(summary.match(/^# .*/gm)).toHaveLength(1)
  expect(summary).toContain('3 assets · 3 fresh · 3 created')
  expect(summary).toContain(`[The contact sheet](${outputs['report_url']})`)
  expect(path).toEqual([join(machine.root, 'tools/modelgate', version, process.arch)])
  expect(services.artifacts.map(({ name, type }) => [name, type])).toEqual([
    ['contact-sheet.html', 'text/html'],
  ])
  expect(String(services.artifacts[0]!.bytes)).toMatch(/^<!doctype html>[^]*anchor/i)
  expect(services.caches).toHaveLength(1)
})

test('the next run, on another checkout and with the same tools, restores all and creates nothing', async () => {
  const { services, sandbox, machine, job, pictures } = await scene()
  await job({ run: 1 })
  machine.checkout(three)
  const { exit, outputs } = await job({ run: 2 })
  expect([exit, sandbox.created()]).toEqual([0, 3])
  expect(outputs).toMatchObject({ cache_hit: 'true', created: '0', up_to_date: 'true' })
  expect(pictures()).toHaveLength(3)
  expect(services.asked.filter(({ path }) => path.endsWith('.tar.gz'))).toHaveLength(1)
})

test('a run that is cancelled keeps what was paid for, and the next one goes on', async () => {
  // The third request has to wait a minute.
  const headers = { 'retry-after': '60' }
  const { services, sandbox, machine, start, job, pictures } = await scene({
    faults: [{ endpoint: 'image-generations', nth: 3, action: 'status', status: 429, headers }],
  })
  const step = start({ run: 1 })
  await until(() => sandbox.firedFaults().length === 1)
  step.process.kill('SIGINT')
  const main = await step.ended
  expect([main.exit, main.outputs['exit_code'], sandbox.created()]).toEqual([130, '130', 2])
  expect([services.caches.length, services.artifacts.length]).toEqual([0, 0])
  const post = await step.post()
  expect([post.exit, services.caches.length, services.artifacts.length]).toEqual([0, 1, 1])

  machine.checkout(three)
  const { exit, outputs } = await job({ run: 2 })
  expect([exit, sandbox.created(), pictures().length]).toEqual([0, 3, 3])
  // One run that was interrupted: its budget goes on.
  expect(outputs).toMatchObject({ cache_hit: 'true', created: '3', up_to_date: 'true' })
})

test('of a run that the runner kills what was under way is unknown, and nothing is paid twice', async () => {
  const { sandbox, machine, start, job, pictures } = await scene({
    faults: [{ endpoint: 'image-generations', nth: 3, action: 'stall', at: 'before-headers' }],
  })
  const step = start({ run: 1 })
  await until(() => sandbox.firedFaults().length === 1)
  // As the runner does after ten seconds: all processes of the step.
  const children = readFileSync(`/proc/${step.process.pid}/task/${step.process.pid}/children`, 'utf8')
  for (const id of [...children.trim().split(' ').map(Number), step.process.pid!]) process.kill(id, 'SIGKILL')
  expect((await step.ended).exit).toBe('SIGKILL')
  await step.post()
  const created = sandbox.created()
  machine.checkout(three)
  const { exit, outputs } = await job({ run: 2 })
  expect([exit, sandbox.created() - created, pictures().length]).toEqual([7, 0, 2])
  expect(JSON.parse(outputs['failures']!)).toEqual([])
})

test('a failure has the exit code of the program, and what was made is saved', async () => {
  const { services, sandbox, machine, job } = await scene({
    faults: [{ endpoint: 'image-generations', nth: 2, action: 'status', status: 400 }],
  })
  const first = await job({ run: 1 })
  expect([first.exit, first.outputs['exit_code'], first.outputs['failed']]).toEqual([12, '12', '1'])
  expect(JSON.parse(first.outputs['failures']!)).toEqual([
    expect.objectContaining({ instance: 'icons[boat]', exit_code: 4, billed: 'no' }),
  ])
  expect(first.log).toMatch(/^::error title=/m)
  expect([services.caches.length, services.artifacts.length]).toEqual([1, 1])
  machine.checkout(three)
  expect([(await job({ run: 2 })).exit, sandbox.created()]).toEqual([0, 3])
})

test.each([
  ['frozen', 13],
  ['check', 13],
  ['plan', 0],
])('%s needs no key, sends nothing and saves nothing: exit code %i', async (mode, code) => {
  const { services, sandbox, start } = await scene()
  const step = start({ with: { mode, 'api-key': '' } })
  const { exit, outputs } = await step.ended
  await step.post()
  expect([exit, outputs['exit_code'], outputs['mode'], outputs['left']]).toEqual([
    code,
    String(code),
    mode,
    '3',
  ])
  expect([sandbox.requests().length, services.caches.length, services.artifacts.length]).toEqual([0, 0, 1])
})

test.each<[string, object, Record<string, string>]>([
  ['a fork', { pull_request: { head: { repo: { full_name: 'mallory/site' } } } }, {}],
  ['a fork that is gone', { pull_request: { head: { repo: null } } }, {}],
  ['Dependabot', {}, { GITHUB_ACTOR: 'dependabot[bot]' }],
  ['a run of a fork', { workflow_run: { head_repository: { full_name: 'mallory/site' } } }, {}],
])('for %s nothing is generated, even with a key', async (_, event, env) => {
  const { sandbox, start } = await scene()
  const { exit, outputs, log } = await start({ event, env, with: { report: '' } }).ended
  expect([exit, outputs['mode'], sandbox.requests()]).toEqual([13, 'frozen', []])
  expect(log).toContain('::warning::Nothing is generated for a pull request of a fork or of Dependabot')
})

test('for a pull request of the repository itself it is', async () => {
  const { sandbox, start } = await scene()
  const event = { pull_request: { head: { repo: { full_name: 'shop/site' } } } }
  expect([(await start({ event }).ended).exit, sandbox.created()]).toEqual([0, 3])
})

test('of a pull request the contact sheet shows what it changes, if its base is in the checkout', async () => {
  const { services, machine, start } = await scene()
  await start().ended
  git(machine.workspace, 'init', '--quiet')
  const base = commitAll(machine.workspace)
  writeFiles(machine.workspace, { 'modelgate.yaml': manifestOf(['anchor', 'boat', 'dock']) })
  machine.install('git', `exec '${findOnPath('git')}' "$@"`)
  const sheetSince = async (sha: string, report: string) => {
    const event = { pull_request: { head: { repo: { full_name: 'shop/site' } }, base: { sha } } }
    const env = { GITHUB_EVENT_NAME: 'pull_request' }
    const { log } = await start({ event, env, with: { report } }).ended
    return { log, page: String(services.artifacts.at(-1)!.bytes).replaceAll(/base64,[^"]*/g, '') }
  }
  const compared = await sheetSince(base, 'compared')
  expect(compared.page).toContain(`0 changed, 1 added, 1 removed, 2 unchanged since ${base} (`)
  expect(compared.page).toMatch(/>icons\[dock\]<[^]*<h2>Removed [^]*>icons\[crane\]</)
  expect(compared.log).not.toContain('::notice::')
  const whole = await sheetSince('0'.repeat(40), 'whole')
  expect(whole.page).toContain('>icons[anchor]<')
  expect(whole.log).toMatch(
    /::notice::The contact sheet shows all assets, .*There is no commit "0{40}" here\..*fetch-depth: 0/,
  )
})

test('a manifest with a mistake: its place is an annotation, once, and there is no contact sheet', async () => {
  const { services, machine, job } = await scene()
  machine.checkout({ 'modelgate.yaml': 'version: 1\njobs: { a: { image creat: {} } }\n' })
  const { exit, log, summary } = await job()
  expect([exit, summary, services.artifacts]).toEqual([2, '', []])
  expect(log.match(/^::(?:error|warning)/gm)).toHaveLength(1)
})

test('a part of the work leaves its part as an artifact, and its store under a name of its own', async () => {
  const { services, sandbox, job } = await scene()
  const { exit, outputs } = await job({ with: { shard: '1/2' } })
  expect(exit).toBe(0)
  expect(outputs['part']).toMatch(/\/work\/repo\/\.modelgate\/parts\/1-of-2$/)
  expect(services.artifacts.map(({ name }) => name)).toEqual(['contact-sheet-1-of-2.html', 'part-1-of-2'])
  expect(services.caches.map(({ name }) => name)).toEqual([expect.stringContaining('-1-of-2-1-1-assets-')])
  expect(sandbox.created()).toBeLessThan(3)
})

test('a folder with signs that mean something in patterns', async () => {
  const { machine, sandbox, job, pictures } = await scene()
  const checkout = {
    'my [assets]*/in/modelgate.yaml': three['modelgate.yaml'],
    'my a/in/.modelgate/x': 'foreign',
  }
  const place = { with: { 'working-directory': 'my [assets]*', manifest: 'in/modelgate.yaml' } }
  machine.checkout(checkout)
  await job({ run: 1, ...place })
  machine.checkout(checkout)
  const { outputs } = await job({ run: 2, ...place })
  expect([outputs['cache_hit'], sandbox.created(), pictures().length]).toEqual(['true', 3, 3])
})

test('where the store of earlier runs cannot be read, nothing is generated', async () => {
  const { services, sandbox, machine, job } = await scene()
  await job({ run: 1 })
  machine.checkout({ 'modelgate.yaml': manifestOf(['anchor', 'boat', 'crane', 'dock']) })
  services.cacheStatus = 400
  const { exit, log } = await job({ run: 2 })
  expect([exit, sandbox.created()]).toEqual([1, 3])
  expect(log).toContain('::error::What earlier runs have left could not be restored. Nothing was generated')
  const frozen = await job({ run: 3, with: { mode: 'frozen' } })
  expect([frozen.exit, frozen.outputs['cache_hit']]).toEqual([13, 'false'])
})

test('what could not be saved is an error that everybody sees', async () => {
  const { services, start } = await scene()
  const step = start()
  await step.ended
  services.cacheStatus = 400
  const { exit, log } = await step.post()
  expect([exit, log]).toEqual([
    0,
    expect.stringContaining('::error::What this run has made could not be saved'),
  ])
})

test('cache: false neither asks nor saves', async () => {
  const { services, job } = await scene()
  await job({ with: { cache: 'false', report: '' } })
  expect(services.asked.filter(({ path }) => path.startsWith('/twirp/'))).toEqual([])
})

test('a store that is there is newer than any that was saved', async () => {
  const { services, job } = await scene()
  await job({ run: 1 })
  const before = services.asked.length
  const { outputs } = await job({ run: 2 })
  expect(outputs['cache_hit']).toBe('false')
  expect(services.asked.slice(before).filter(({ path }) => path.includes('GetCacheEntry'))).toEqual([])
})

test('the sandbox needs neither key nor gateway, also for a fork', async () => {
  const { machine, services, sandbox, start } = await scene()
  const event = { pull_request: { head: { repo: { full_name: 'mallory/site' } } } }
  const step = start({ event, with: { sandbox: 'true', 'api-key': '' } })
  const { exit, outputs } = await step.ended
  await step.post()
  expect([exit, outputs['mode'], outputs['created'], sandbox.requests()]).toEqual([0, 'generate', '3', []])
  expect(existsSync(join(machine.workspace, 'icons'))).toBe(false)
  expect(services.caches.map(({ name }) => name)).toEqual([expect.stringMatching(/^modelgate-sandbox-/)])
})
