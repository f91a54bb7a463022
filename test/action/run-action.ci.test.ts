import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commitAll, git } from '../support/git-repository.ts'
import { until } from '../support/running-sandbox.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { actionFile, findOnPath, version } from './runner.ts'
import { busy, manifestOf, pullRequest, scene, three } from './scene.ts'

test('from a clean checkout to files, summary, contact sheet and store, from which the next one is filled', async () => {
  const { services, sandbox, machine, job, pictures } = await scene()
  const { exit, log, outputs, summary, path, post } = await job({ run: 1 })
  expect([exit, log, post.exit]).toEqual([0, expect.stringContaining('3 instances: 3 fresh'), 0])
  const files = ['anchor', 'boat', 'crane'].map((name) => join(machine.workspace, `icons/${name}.png`))
  const counts = { created: '3', planned: '3', failed: '0', left: '0', estimate: '', cost: '' }
  expect({ ...outputs, files: (JSON.parse(outputs['files']!) as string[]).toSorted() }).toEqual({
    version,
    mode: 'generate',
    cache_hit: 'false',
    up_to_date: 'true',
    ...counts,
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
  const [sheet, ...others] = services.artifacts
  expect([sheet!.name, sheet!.type, others]).toEqual(['contact-sheet.html', 'text/html', []])
  expect(String(sheet!.bytes)).toMatch(/^<!doctype html>[^]*anchor/i)
  expect(services.caches).toHaveLength(1)

  machine.checkout(three)
  const next = await job({ run: 2 })
  expect([next.exit, sandbox.created(), pictures().length]).toEqual([0, 3, 3])
  expect(next.outputs).toMatchObject({ cache_hit: 'true', created: '0', up_to_date: 'true' })
  expect(services.asked.filter(({ path }) => path.endsWith('.tar.gz'))).toHaveLength(1)
})

test('a run that is cancelled keeps what was paid for, and the next one goes on, also in a folder that is a pattern', async () => {
  const { services, sandbox, machine, start, job, pictures } = await scene({ faults: busy })
  const checkout = {
    'my [assets]*/in/modelgate.yaml': three['modelgate.yaml'],
    'my a/in/.modelgate/x': 'foreign',
  }
  const place = { with: { 'working-directory': 'my [assets]*', manifest: 'in/modelgate.yaml' } }
  machine.checkout(checkout)
  const step = start({ run: 1, ...place })
  await until(() => sandbox.firedFaults().length === 1)
  step.process.kill('SIGINT')
  const main = await step.ended
  expect([main.exit, main.outputs['exit_code'], sandbox.created()]).toEqual([130, '130', 2])
  expect([services.caches.length, services.artifacts.length]).toEqual([0, 0])
  const post = await step.post()
  expect([post.exit, services.caches.length, services.artifacts.length]).toEqual([0, 1, 1])

  machine.checkout(checkout)
  const { exit, outputs } = await job({ run: 2, ...place })
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
  const { services, job } = await scene({
    faults: [{ endpoint: 'image-generations', nth: 2, action: 'status', status: 400 }],
  })
  const first = await job()
  expect([first.exit, first.outputs['exit_code'], first.outputs['failed']]).toEqual([12, '12', '1'])
  expect(JSON.parse(first.outputs['failures']!)).toEqual([
    expect.objectContaining({ instance: 'icons[boat]', exit_code: 4, billed: 'no' }),
  ])
  expect(first.log).toMatch(/^::error title=/m)
  expect([services.caches.length, services.artifacts.length]).toEqual([1, 1])
})

test('frozen needs no key, sends nothing and saves nothing', async () => {
  const { services, sandbox, start } = await scene()
  const step = start({ with: { mode: 'frozen', 'api-key': '' } })
  const { exit, outputs } = await step.ended
  await step.post()
  expect([exit, outputs['exit_code'], outputs['mode'], outputs['left']]).toEqual([13, '13', 'frozen', '3'])
  expect([sandbox.requests().length, services.caches.length, services.artifacts.length]).toEqual([0, 0, 1])
})

test('for a fork nothing is generated, even with a key', async () => {
  const { sandbox, start } = await scene()
  const { exit, outputs, log } = await start({ event: pullRequest('mallory/site'), with: { report: '' } })
    .ended
  expect([exit, outputs['mode'], sandbox.requests()]).toEqual([13, 'frozen', []])
  expect(log).toContain('::warning::Nothing is generated for a pull request of a fork or of Dependabot')
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

test('where the store of earlier runs cannot be read, nothing is generated', async () => {
  const { services, sandbox, start } = await scene()
  services.cacheStatus = 400
  const { exit, log } = await start().ended
  expect([exit, sandbox.created()]).toEqual([1, 0])
  expect(log).toContain('::error::What earlier runs have left could not be restored. Nothing was generated')
  const frozen = await start({ with: { mode: 'frozen' } }).ended
  expect([frozen.exit, frozen.outputs['cache_hit']]).toEqual([13, 'false'])
})

test('a limit reaches the program, and what could not be saved is an error that everybody sees', async () => {
  const { services, sandbox, start } = await scene()
  const step = start({ with: { 'max-creates': '2' } })
  const { exit, outputs } = await step.ended
  expect([exit, outputs['exit_code'], sandbox.created()]).toEqual([15, '15', 2])
  services.cacheStatus = 400
  const post = await step.post()
  expect(post.exit).toBe(0)
  expect(post.log).toContain('::error::What this run has made could not be saved')
})

test('some jobs, with the key of the environment, and no cache: nothing is asked of it or saved', async () => {
  const { key, services, sandbox, job, pictures } = await scene()
  const given = { 'api-key': '', jobs: '\n icons[anchor]\r\nicons[b*]\n\n', cache: 'false', report: '' }
  const { exit } = await job({ with: given, env: { MODELGATE_API_KEY: key } })
  expect([exit, pictures(), sandbox.created()]).toEqual([0, ['icons/anchor.png', 'icons/boat.png'], 2])
  expect(services.asked.filter(({ path }) => path.startsWith('/twirp/'))).toEqual([])
})

test('a store that is there is newer than any that was saved', async () => {
  const { services, machine, start } = await scene()
  machine.checkout({ ...three, '.modelgate/x': '' })
  const { outputs } = await start({ with: { mode: 'check', report: '' } }).ended
  expect(outputs['cache_hit']).toBe('false')
  expect(services.asked.filter(({ path }) => path.includes('GetCacheEntry'))).toEqual([])
})

test('the sandbox needs neither key nor gateway, also for a fork', async () => {
  const { machine, services, sandbox, start } = await scene()
  const inputs = { sandbox: 'true', 'api-key': '', jobs: 'icons[boat]' }
  const step = start({ event: pullRequest('mallory/site'), with: inputs })
  const { exit, outputs } = await step.ended
  await step.post()
  expect([exit, outputs['mode'], outputs['created'], sandbox.requests()]).toEqual([0, 'generate', '1', []])
  expect(existsSync(join(machine.workspace, 'icons'))).toBe(false)
  expect(services.caches.map(({ name }) => name)).toEqual([expect.stringMatching(/^modelgate-sandbox-/)])
})

const hostile = 'x\n::set-output name=a::b\n$(touch pwned)`touch pwned`'

test('lines that are commands are refused in each input, on one line, and nothing is fetched', async () => {
  const { services, machine, start } = await scene()
  const free = new Set(['api-key', 'jobs', 'token'])
  const names = Object.keys(actionFile.inputs).filter((name) => !free.has(name))
  const { exit, log } = await start({ with: Object.fromEntries(names.map((name) => [name, hostile])) }).ended
  expect([exit, services.asked]).toEqual([1, []])
  expect(log.match(/^::set-output/gm)).toBeNull()
  const errors = /^::error::(.*)$/m.exec(log)![1]!.split('%0A')
  expect(errors.map((line) => line.replace(/ must be .*/, '')).toSorted()).toEqual(names.toSorted())
  expect(existsSync(join(machine.workspace, 'pwned'))).toBe(false)
})

test('what looks like a flag, a command of the shell or one of the runner is the name of a job', async () => {
  const jobs = ['--generate', '-o', '$(touch pwned)', '; touch pwned', '--']
  const { sandbox, machine, start } = await scene()
  const { exit, log } = await start({ with: { jobs: [...jobs, '::error::boo'].join('\n') } }).ended
  expect([exit, sandbox.requests(), existsSync(join(machine.workspace, 'pwned'))]).toEqual([2, [], false])
  for (const job of jobs) expect(log).toContain(`There is no job ${JSON.stringify(job)}.`)
  expect(log.match(/^::error::boo/gm)).toBeNull()
})

test('the program gets the key, and nothing of what is for the action alone', async () => {
  const { machine, key, start, sandbox } = await scene()
  const seen = join(machine.root, 'seen')
  machine.install('mine', `env > '${seen}'; [ "$1" = --version ] && echo 1.0.0`)
  machine.install('env', `exec '${findOnPath('env')}'`)
  const names = () => {
    const lines = readFileSync(seen, 'utf8').split('\n')
    return lines.map((line) => line.split('=', 1)[0]!).filter((name) => name !== '')
  }
  const given = { executable: 'mine', report: '' }
  await start({ with: given }).ended
  expect(readFileSync(seen, 'utf8')).toContain(`MODELGATE_API_KEY=${key}\n`)
  expect(names().filter((name) => /^(?:INPUT|STATE|ACTIONS)_|_(?:PATH|ENV|STATE)$/.test(name))).toEqual([
    'GITHUB_EVENT_PATH',
  ])
  const reports = ['MODELGATE_BASE_URL', 'GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY']
  expect(names()).toEqual(expect.arrayContaining(reports))
  await start({ with: { ...given, mode: 'check' }, env: { MODELGATE_API_KEY: key } }).ended
  expect([names().includes('MODELGATE_API_KEY'), sandbox.requests()]).toEqual([false, []])
})
