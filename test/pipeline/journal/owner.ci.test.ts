import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemProcesses } from '../../../src/context.ts'
import { takeOwnership } from '../../../src/pipeline/journal/owner.ts'
import { projectOf, type Project } from '../../../src/pipeline/project.ts'
import { failureOf } from '../../support/config-place.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { amount } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { sampleProject } from './journal-samples.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const isLinux = process.platform === 'linux'

function testOwner() {
  let chance = 0
  const clock = fakeClock({ start: noon, random: () => (chance = (chance + 0.618_033_988_75) % 1) })
  return { platform: process.platform, clock, processes: systemProcesses }
}

const runs = (project: Project) => join(project.stateFolder, 'runs')
const ownerFiles = (project: Project) => readdirSync(runs(project)).filter((name) => name.includes('.owner'))
const recordOf = async (project: Project) => {
  const ownership = await takeOwnership(project, testOwner())
  const [name = ''] = ownerFiles(project)
  const record: unknown = JSON.parse(readFileSync(join(runs(project), name), 'utf8'))
  await ownership.release()
  return record as { process: number; started: string | null; host: string; machine: string | null }
}

/** What another process has left. */
function leave(project: Project, record: object | string, { agoS = 0, name = 'modelgate.yaml' } = {}) {
  mkdirSync(runs(project), { recursive: true })
  const path = join(runs(project), `${name}.00000000000000ff.owner`)
  writeFileSync(path, typeof record === 'string' ? record : JSON.stringify(record))
  utimesSync(path, noon / 1000 - agoS, noon / 1000 - agoS)
  return path
}

const refusal = (project: Project) => failureOf(() => takeOwnership(project, testOwner()))

const deadProcess = () => spawnSync(process.execPath, ['-e', '']).pid

/** A process that takes ownership when told to. */
function startChild(project: Project) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'owner-child.ts'), project.manifestPath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, say: talkingTo(child) }
}

function talkingTo({ stdin, stdout }: ChildProcess) {
  const answers = createInterface({ input: stdout! })[Symbol.asyncIterator]()
  return async (line: string) => {
    stdin!.write(`${line}\n`)
    return String((await answers.next()).value)
  }
}

test('the owner has a file that says who it is, until it ends', async () => {
  const project = sampleProject()
  const ownership = await takeOwnership(project, testOwner())
  const [name = '', ...others] = ownerFiles(project)
  expect(others).toEqual([])
  expect(name).toMatch(/^modelgate\.yaml\.[0-9a-f]{16}\.owner$/)
  const path = join(runs(project), name)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ process: process.pid, host: hostname() })
  expect(statSync(path).mtimeMs).toBe(noon)
  await ownership.release()
  expect(ownerFiles(project)).toEqual([])
})

test('a living owner on this machine is named, also one that gives no sign of life', async () => {
  const project = sampleProject()
  const { child, say } = startChild(project)
  expect(await say('take')).toBe('owner')
  expect(await refusal(project)).toBe(
    `2 run_owned (input)\n"modelgate.yaml" is already being run by process ${child.pid} on this machine.\nhint: Wait for it to end, or stop it.`,
  )
  const [name = ''] = ownerFiles(project)
  utimesSync(join(runs(project), name), 0, 0)
  expect(await refusal(project)).toContain('2 run_owned')
  expect(await say('release')).toBe('free')
  await (await takeOwnership(project, testOwner())).release()
})

test('manifests of one folder have an owner each', async () => {
  const project = sampleProject()
  const [longer, other] = ['modelgate.yaml.bak', 'gatemodel.yaml'].map((name) =>
    projectOf(join(project.folder, name), false),
  )
  const ownerships = []
  // Whichever comes first.
  for (const one of [longer!, project, other!]) ownerships.push(await takeOwnership(one, testOwner()))
  expect(ownerFiles(project)).toHaveLength(3)
  for (const ownership of ownerships) await ownership.release()
})

describe('a dead owner', () => {
  test('that was killed is taken over at once', async () => {
    const project = sampleProject()
    const { child, say } = startChild(project)
    expect(await say('take')).toBe('owner')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const ownership = await takeOwnership(project, testOwner())
    expect(ownership.followsDeath).toBe(true)
    await ownership.release()
    expect(ownerFiles(project)).toEqual([])
  })

  test.runIf(isLinux)('whose id another process has got is taken over at once', async () => {
    const project = sampleProject()
    const record = await recordOf(project)
    leave(project, { ...record, started: '1' })
    await (await takeOwnership(project, testOwner())).release()
    leave(project, record)
    expect(await refusal(project)).toContain('2 run_owned')
  })

  test('of another machine is taken over after a minute of silence, not before', async () => {
    const project = sampleProject()
    const record = { ...(await recordOf(project)), process: deadProcess(), host: 'build-7' }
    const path = leave(project, record, { agoS: 59.9 })
    expect(await refusal(project)).toBe(
      `2 run_owned (input)\n"modelgate.yaml" is already being run by process ${record.process} on build-7, last seen 60 s ago.\nhint: Wait until it has ended; if it was killed, it is taken over after 60 s of silence. If it has ended and its clock is ahead, remove "${path}".`,
    )
    leave(project, record, { agoS: 60 })
    await (await takeOwnership(project, testOwner())).release()
  })
})

const rounds = amount(8, 25)

test('of those that race for what a dead one has left, exactly one becomes the owner', async () => {
  const project = sampleProject()
  const record = { ...(await recordOf(project)), process: deadProcess() }
  const children = Array.from({ length: 4 }, () => startChild(project))
  for (let round = 0; round < rounds; round++) {
    leave(project, record)
    const answers = await Promise.all(children.map(({ say }) => say('take')))
    expect(answers.toSorted(), `round ${round}`).toEqual(['owner', 'run_owned', 'run_owned', 'run_owned'])
    expect(ownerFiles(project)).toHaveLength(1)
    expect(await children[answers.indexOf('owner')]!.say('release')).toBe('free')
  }
})

test('whoever adds a file after the first look is seen by the second', async () => {
  const project = sampleProject()
  const record = await recordOf(project)
  const context = testOwner()
  const { random } = context.clock
  Object.assign(context.clock, { random: () => leave(project, record) && random() })
  const refused = failureOf(() => takeOwnership(project, context))
  await until(() => context.clock.pendingTimers === 1)
  expect(ownerFiles(project)).toEqual(['modelgate.yaml.00000000000000ff.owner'])
  await context.clock.advance(110)
  expect(await refused).toContain('2 run_owned')
})

test('the file shows that the owner lives, every ten seconds', async () => {
  const project = sampleProject()
  const context = testOwner()
  const ownership = await takeOwnership(project, context)
  const path = join(runs(project), ownerFiles(project)[0]!)
  for (const seconds of [10, 20, 30]) {
    await context.clock.advance(10_000)
    await until(() => statSync(path).mtimeMs === noon + seconds * 1000 && context.clock.pendingTimers === 1)
  }
  await ownership.release()
  expect(context.clock.pendingTimers).toBe(0)
})

test('an owner that was taken over learns of it', async () => {
  const project = sampleProject()
  const context = testOwner()
  const { lost, release } = await takeOwnership(project, context)
  const path = join(runs(project), ownerFiles(project)[0]!)
  rmSync(path)
  expect(lost.aborted).toBe(false)
  await context.clock.advance(10_000)
  await until(() => lost.aborted)
  const message = `Another process has taken over this run: "${path}" is gone.`
  expect(lost.reason).toMatchObject({ exitCode: 10, code: 'run_owned', message, facts: { billed: 'no' } })
  await release()
})
