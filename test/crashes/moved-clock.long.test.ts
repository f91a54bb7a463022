import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnProgram } from '../black-box/spawn-program.ts'
import { videoWorkspace } from '../black-box/video-workspace.ts'
import { crashProject } from '../pipeline/crash-project.ts'
import { textStyles } from '../program/text-styles.ts'
import { jobGateway } from '../support/job-gateway.ts'
import { localServer } from '../support/local-server.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import * as reply from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { mp4Bytes } from '../support/video-bytes.ts'
import { heldReply, restOfStream } from './held-reply.ts'
import { crashMachine, endOf, generate, twoImages } from './machine.ts'

/*
 * Fault F19: the clock of the machine is set while the program runs, or is another one than before. A wait that went by
 * that clock would last a day here, and the test would not end.
 */

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

/** A clock of its own for a program, which moves when the test says so. Other clocks than that of the day go on. */
function movableClock(offset = '+0') {
  const file = join(temporaryFolder(), 'clock')
  const move = (to: string) => writeFileSync(file, `${to}\n`)
  move(offset)
  const env: Readonly<Record<string, string>> = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  return { env, move }
}

const oneByOne = { 'modelgate.yaml': `version: 1\nlanes: { image: 1 }\n${twoImages.jobs}` }
const moves = ['+1d', '-1d'] as const
const { delta, end } = textStyles.generate
const clip = mp4Bytes({ width: 1280, height: 720 }, Buffer.alloc(3_000_000, 7))

describe.skipIf(library === undefined)('a clock that is moved by a day (needs faketime)', () => {
  test('the clock of the program is the one that the test moves', async () => {
    const { env } = movableClock('+1d')
    const program = spawnProgram(['-p', 'Date.now()'], { program: [process.execPath], env })
    const { stdout } = await program.ended
    expect(Math.round((Number(stdout.toString()) - Date.now()) / 3_600_000)).toBe(24)
  })

  test.each(moves)('%s while a text streams: it is whole, and took seconds', async (to) => {
    const { promise: isMoved, resolve: goOn } = Promise.withResolvers<void>()
    const server = await localServer([heldReply(isMoved, restOfStream)])
    const clock = movableClock()
    const state = temporaryFolder()
    const env = { ...clock.env, MODELGATE_STATE_DIR: state }
    const program = spawnProgram(['generate', '-m', 'm', '--base-url', server.url, 'Hi'], { env })
    await until(() => program.stdout.length > 0)
    clock.move(to)
    goOn()
    expect((await endOf(program)).stdout.toString()).toBe('Hello, you.\n')
    const months = globSync(join(state, 'calls/*.jsonl')).map((path) => readFileSync(path, 'utf8'))
    const took = Number(/"duration_ms":([^,}]*)/.exec(months.join(''))?.[1])
    expect(took >= 0 && took < 60_000).toBe(true)
  })

  test.each(moves)('%s while a job is waited for: it is looked up again as ever', async (to) => {
    const gateway = await jobGateway({ film: () => clip })
    const workspace = videoWorkspace(gateway)
    const clock = movableClock()
    const words = ['generate', '-m', 'veo', '--wait', '--timeout', '600', '-o', 'x.mp4', 'A boat']
    const program = workspace.start(words, clock.env)
    await until(() => gateway.seen.includes('first-look-up'))
    clock.move(to)
    await endOf(program)
    expect(gateway.created).toHaveLength(1)
    expect(workspace.read('x.mp4').equals(clip)).toBe(true)
  })

  test.each(moves)(
    '%s away from the gateway, whose refusal names a time: it waits as long as is meant',
    async (to) => {
      const now = Math.floor(Date.now() / 1000) * 1000
      const date = (ms: number) => new Date(ms).toUTCString()
      const busy = reply.text('{}', {
        status: 429,
        headers: { date: date(now), 'retry-after': date(now + 1000) },
      })
      const server = await localServer([busy, reply.sse([delta('Hello.'), end])])
      const { env } = movableClock(to)
      const words = ['generate', '-m', 'm', '--base-url', server.url, 'Hi']
      expect((await endOf(spawnProgram(words, { env }))).stdout.toString()).toBe('Hello.\n')
    },
  )

  test.each(moves)('%s while a run waits, as it was told to: it goes on as ever', async (to) => {
    const busy = { endpoint: 'image-generations', action: 'status', status: 429, times: 1 } as const
    const sandbox = await runningSandbox({ faults: [{ ...busy, headers: { 'retry-after': '1' } }] })
    const project = crashProject(sandbox, oneByOne)
    const clock = movableClock()
    const program = project.start(['--yes'], clock.env)
    await until(() => sandbox.firedFaults().length === 1)
    clock.move(to)
    await endOf(program)
    expect([sandbox.created(), project.outputs()]).toEqual([2, twoImages.outputs])
  })

  test.each(moves)('%s since a run began: it is not taken over, and once it is dead, at once', async (to) => {
    const stalled = { endpoint: 'image-generations', action: 'stall', at: 'before-headers' } as const
    const sandbox = await runningSandbox({ faults: [{ ...stalled, times: 1 }] })
    const project = crashProject(sandbox, oneByOne)
    const first = project.start(['--yes'])
    await until(() => sandbox.firedFaults().length === 1)
    const { env } = movableClock(to)
    const second = await project.start(['--yes'], env).ended
    expect(second.exit).toBe(2)
    expect(second.stderr).toContain(`is already being run by process ${first.process.pid} on this machine.`)
    first.process.kill('SIGKILL')
    await first.ended
    await endOf(project.start(['--yes'], env))
    expect([project.outputs(), project.leftovers()]).toEqual([twoImages.outputs, []])
  })

  test.each(moves)(
    '%s in another process: a file that is being written is saved all the same',
    async (to) => {
      const gateway = await jobGateway({ film: () => clip, stopAt: 'video-half' })
      const workspace = videoWorkspace(gateway)
      const program = workspace.start(['generate', '-m', 'veo', '--wait', '-o', 'x.mp4', 'A boat'])
      await until(() => gateway.seen.includes('video-half'))
      await until(() => workspace.parts().some((name) => name.startsWith('.x.mp4')), workspace.cwd)
      const { env } = movableClock(to)
      await endOf(workspace.start(['generate', '-m', 'veo', '--wait', '-o', 'y.mp4', 'Waves'], env))
      gateway.goOn()
      await endOf(program)
      expect(workspace.files()).toEqual(['x.mp4', 'y.mp4'])
    },
  )

  test('back for one call: the log shows what was called before and after it', async () => {
    const machine = await crashMachine()
    await machine.finish([...generate, 'one'])
    await machine.finish([...generate, 'two'], movableClock('-1d').env)
    await machine.finish([...generate, 'three'])
    const log = await machine.document('log', '--since', '2h')
    expect(log).toMatchObject({ calls: [{ prompt: 'three' }, { prompt: 'one' }] })
  })

  test('back: what was created counts still', async () => {
    const machine = await crashMachine()
    const call = (env = {}) => machine.start([...generate, 'A word'], { ...env, MODELGATE_MAX_CREATES: '1' })
    await endOf(call())
    await endOf(call(movableClock('-1d').env), 15)
    expect(machine.sandbox.created()).toBe(1)
  })
})
