import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { projectRoot, readPage } from '../support/pages.ts'
import { until, type Json } from '../support/running-sandbox.ts'
import { logged, startsProgram, unzipped, version, type Runner } from './runner.ts'
import { busy, scene, three } from './scene.ts'

const workflow = load(readPage('examples/pipelines/workflow.yaml')) as Json
const gitlab = load(readPage('examples/pipelines/gitlab-ci.yml')) as Json

/** A shell with nothing but an operating system and the program on its PATH. */
function shell(machine: Runner, words: readonly string[], env: Readonly<Record<string, string>>) {
  machine.install('modelgate', startsProgram)
  const own = { PATH: `${machine.bin}:/usr/bin:/bin`, HOME: join(machine.root, 'nobody'), CI: 'true' }
  return logged('/bin/sh', words, machine.workspace, { ...own, ...env })
}

test('the workflow: parts on machines of their own, put together, are all there is, and each was made once', async () => {
  const { services, sandbox, machine, start, pictures, key } = await scene()
  const { check, generate, merge } = workflow.jobs
  const inputsOf = ({ steps }: Json, shard: number): Record<string, string> => {
    const step = steps.find(({ uses }: Json) => uses === `modelgate/modelgate@v${version}`)
    const filled = Object.entries(step.with).map(([name, value]) => {
      const numbered = String(value).replace('${{ matrix.shard }}', String(shard))
      return [name, numbered.replace('${{ secrets.MODELGATE_API_KEY }}', () => key)]
    })
    return { 'api-key': '', ...Object.fromEntries(filled) }
  }
  expect((await start({ with: inputsOf(check, 0) }).ended).exit).toBe(13)
  for (const shard of [1, 2, 3]) {
    machine.checkout(three)
    const step = start({ with: inputsOf(generate, shard) })
    expect((await step.ended).exit).toBe(0)
    await step.post()
  }
  const parts = services.artifacts.filter(({ name }) => name.startsWith('part-'))
  expect(parts.map(({ name }) => name)).toEqual(['part-1-of-3', 'part-2-of-3', 'part-3-of-3'])
  expect(sandbox.created()).toBe(3)

  machine.checkout(three)
  expect((await start({ with: inputsOf(merge, 0) }).ended).exit).toBe(0)
  const temp = join(machine.root, 'merge')
  mkdirSync(join(temp, 'parts'), { recursive: true })
  for (const { name, bytes } of parts) cpSync(unzipped(bytes), join(temp, 'parts', name), { recursive: true })
  const lines = merge.steps.flatMap(({ run = '' }) => (run.startsWith('modelgate ') ? [run] : []))
  const { exit, log } = await shell(machine, ['-ec', lines.join('\n')], { RUNNER_TEMP: temp }).ended
  expect([exit, log]).toEqual([0, expect.stringContaining('3 instances: 3 fresh')])
  expect([pictures().length, existsSync(join(temp, 'report.html'))]).toEqual([3, true])
  expect((await start({ with: inputsOf(check, 0) }).ended).exit).toBe(0)
})

/** Runs a job of GitLab on a clean checkout, with the cache of the branch. */
async function gitlabJob(name: string, machine: Runner, env: Readonly<Record<string, string>>) {
  const { script, variables = {}, cache: { paths = [] } = {} } = gitlab[name] as Json
  const kept = join(machine.root, 'gitlab-cache')
  machine.checkout(three)
  for (const path of paths)
    if (existsSync(join(kept, path)))
      cpSync(join(kept, path), join(machine.workspace, path), { recursive: true })
  const ended = await shell(machine, ['-ec', script.join('\n')], { ...env, ...variables }).ended
  for (const path of paths) {
    rmSync(join(kept, path), { recursive: true, force: true })
    cpSync(join(machine.workspace, path), join(kept, path), { recursive: true })
  }
  return ended
}

test('GitLab: a failed job keeps what it has made, the next one makes the rest, and the check needs no key', async () => {
  const { sandbox, machine, key, pictures } = await scene({
    faults: [{ endpoint: 'image-generations', nth: 2, action: 'status', status: 400 }],
  })
  const env = { GITLAB_CI: 'true', MODELGATE_BASE_URL: sandbox.url, MODELGATE_API_KEY: key }
  expect((await gitlabJob('assets:check', machine, env)).exit).toBe(13)
  expect((await gitlabJob('assets:generate', machine, env)).exit).toBe(12)
  expect(existsSync(join(machine.workspace, 'contact-sheet.html'))).toBe(true)
  const { exit, log } = await gitlabJob('assets:generate', machine, env)
  expect([exit, sandbox.created(), pictures().length]).toEqual([0, 3, 3])
  const { script } = gitlab['assets:check']
  expect((await shell(machine, ['-ec', script.join('\n')], {}).ended).exit).toBe(0)
  expectNoKey('the log', log, key)
  expectNoKeyBelow(machine.root, key)
})

test('GitLab: the rules know the label by its whole name, and run one job or the other', () => {
  const rules = ['assets:check', 'assets:generate'].map((name) => gitlab[name].rules[0].if as string)
  const patterns = rules.map((rule) => /LABELS [!=]~ \/(.*?)\/(?: |$)/.exec(rule)![1]!)
  expect(patterns[0]).toBe(patterns[1])
  const found = ['generate', 'a,generate', 'generate,b', 'regenerate', 'generate-docs', ''].map((labels) =>
    new RegExp(patterns[0]!).test(labels),
  )
  expect(found).toEqual([true, true, true, false, false, false])
  expect(rules[1]).toContain('$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID')
})

const script = fileURLToPath(new URL('examples/pipelines/run.sh', projectRoot))

test('the shell script: a second checkout is filled from the folder, and nothing is created', async () => {
  const { sandbox, machine, key, pictures } = await scene()
  const keep = join(machine.root, 'kept folder')
  const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_API_KEY: key }
  const first = await shell(machine, [script, keep, '--generate'], env).ended
  expect([first.exit, existsSync(join(keep, 'contact-sheet.html'))]).toEqual([0, true])
  machine.checkout(three)
  const { exit, log } = await shell(machine, [script, keep, '--generate', '--max-creates', '0'], env).ended
  expect([exit, log]).toEqual([0, expect.stringContaining('3 instances: 3 fresh')])
  expect([sandbox.created(), pictures().length]).toEqual([3, 3])
  expectNoKeyBelow(machine.root, key)
})

test('the shell script: stopped in the middle it keeps what was paid for, and the next one goes on', async () => {
  const { sandbox, machine, key, pictures } = await scene({ faults: busy })
  const keep = join(machine.root, 'kept')
  const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_API_KEY: key }
  const stopped = shell(machine, [script, keep, '--generate'], env)
  await until(() => sandbox.firedFaults().length === 1)
  stopped.process.kill('SIGTERM')
  expect([(await stopped.ended).exit, sandbox.created()]).toEqual([143, 2])
  machine.checkout(three)
  expect((await shell(machine, [script, keep, '--generate'], env).ended).exit).toBe(0)
  expect([sandbox.created(), pictures().length]).toEqual([3, 3])
})

test('the shell script: exit codes are those of the program, and two at once are refused', async () => {
  const { machine } = await scene()
  const keep = join(machine.root, 'kept')
  expect((await shell(machine, [script, keep, '--check'], {}).ended).exit).toBe(13)
  mkdirSync(join(keep, 'lock'))
  const second = await shell(machine, [script, keep, '--check'], {}).ended
  // What mkdir says itself is in the words of its system.
  expect([second.exit, second.log.replace(/^mkdir: .*\n/, '')]).toEqual([
    10,
    `Another run works with ${keep}. If there is none, remove ${keep}/lock\n`,
  ])
  expect((await shell(machine, [script], {}).ended).log).toContain('usage: run.sh FOLDER')
})

test('the recipes use the version of this checkout', () => {
  expect(readPage('examples/pipelines/gitlab-ci.yml')).toContain(`modelgate:${version}\n`)
  const uses = [...readPage('examples/pipelines/workflow.yaml').matchAll(/modelgate\/modelgate@(\S+)/g)]
  expect(uses.map(([, ref]) => ref)).toEqual(uses.map(() => `v${version}`))
})
