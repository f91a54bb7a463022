import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { actionFile } from './runner.ts'
import { scene, three } from './scene.ts'

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

test('all mistakes are told at once', async () => {
  const { start } = await scene()
  const { log } = await start({ with: { mode: 'make', shard: '3', cache: 'perhaps' } }).ended
  expect(log).toContain(
    '::error::mode must be frozen, check, plan, generate, setup, not "make".%0A' +
      'shard must be a part and how many there are, such as 2/5, not "3".%0A' +
      'cache must be true, false, not "perhaps".',
  )
})

test('what looks like a flag, a command of the shell or one of the runner is the name of a job', async () => {
  const jobs = ['--generate', '--base-url=http://127.0.0.1:9/', '-o', '$(touch pwned)', '; touch pwned', '--']
  const { sandbox, machine, start } = await scene()
  const { exit, log } = await start({ with: { jobs: [...jobs, '::error::boo'].join('\n') } }).ended
  expect([exit, sandbox.requests(), existsSync(join(machine.workspace, 'pwned'))]).toEqual([2, [], false])
  for (const job of jobs) expect(log).toContain(`There is no job ${JSON.stringify(job)}.`)
  expect(log.match(/^::error::boo/gm)).toBeNull()
})

test.each([
  ['max-creates', '--generate'],
  ['max-cost', '-1 --yes'],
  ['timeout', '--debug'],
  ['manifest', '--sandbox'],
])('%s: %s is a value, and a wrong one', async (name, value) => {
  const { sandbox, start } = await scene()
  const { exit } = await start({ with: { [name]: value } }).ended
  expect([exit, sandbox.requests()]).toEqual([2, []])
})

test('jobs are lines, with wildcards', async () => {
  const { start, pictures, sandbox } = await scene()
  const { exit } = await start({ with: { jobs: '\n icons[anchor]\r\nicons[b*]\n\n' } }).ended
  expect([exit, pictures(), sandbox.created()]).toEqual([0, ['icons/anchor.png', 'icons/boat.png'], 2])
})

test('limits reach the program, where something is made', async () => {
  const { start, sandbox } = await scene()
  const { exit, outputs } = await start({ with: { 'max-creates': '2' } }).ended
  expect([exit, outputs['exit_code'], sandbox.created()]).toEqual([15, '15', 2])
  const checked = await start({ with: { mode: 'check', 'max-creates': '2', 'max-cost': '1' } }).ended
  expect(checked.exit).toBe(13)
})

test('the program gets the key, and nothing of what is for the action alone', async () => {
  const { machine, key, start, sandbox } = await scene()
  const seen = join(machine.root, 'seen')
  machine.install('mine', `env > '${seen}'; [ "$1" = --version ] && echo 1.0.0`)
  const where = process.env['PATH']!.split(':').find((folder) => existsSync(join(folder, 'env')))!
  machine.install('env', `exec '${join(where, 'env')}'`)
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
  expect(names()).toEqual(
    expect.arrayContaining(['MODELGATE_BASE_URL', 'GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY']),
  )
  await start({ with: { ...given, mode: 'check' }, env: { MODELGATE_API_KEY: key } }).ended
  expect([names().includes('MODELGATE_API_KEY'), sandbox.requests()]).toEqual([false, []])
})

test('the key of the environment does the same as the input', async () => {
  const { key, job, sandbox } = await scene()
  const { exit } = await job({ with: { 'api-key': '' }, env: { MODELGATE_API_KEY: key } })
  expect([exit, sandbox.created()]).toEqual([0, 3])
})

test('a folder that is not there, and a checkout without a manifest', async () => {
  const { machine, start } = await scene()
  const missing = await start({ with: { 'working-directory': 'nowhere' } }).ended
  expect([missing.exit, missing.log]).toEqual([1, expect.stringContaining('there is no folder ')])
  machine.checkout({ README: '' })
  const bare = await start().ended
  expect([bare.exit, bare.log]).toEqual([2, expect.stringContaining('There is no modelgate.yaml here')])
  machine.checkout({ ...three, 'a/b/c': '' })
  const below = await start({ with: { 'working-directory': 'a/b' } }).ended
  expect(below.exit).toBe(0)
})
