import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { crashProject } from '../pipeline/crash-project.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { crashMachine, filesBelow, generate, image, twoImages, type Machine } from './machine.ts'

/** Calls the same so many times at once. */
const callAll = (machine: Machine, calls: readonly (readonly string[])[], env = {}) =>
  Promise.all(calls.map((call) => machine.start(call, env).ended))

const text = [...generate, '-o', 'note.txt', 'A note']

const settings = [
  ['text_model', 'some-model'],
  ['image_model', 'some-image-model'],
  ['video_model', 'some-video-model'],
  ['max_retries', '7'],
  ['poll_interval', '3'],
  ['idle_timeout', '77'],
  ['connect_timeout', '11'],
  ['progress_timeout', '222'],
] as const

describe.each([2, 8])('%i processes at once', (count) => {
  const times = <Value>(value: Value): Value[] => Array.from({ length: count }, () => value)

  test('replace the same file: it is that of one of them, and whole', async () => {
    const machine = await crashMachine()
    const ended = await callAll(machine, times([...image, '--force']))
    expect(ended.map(({ exit }) => exit)).toEqual(times(0))
    const [[name, content] = [], ...others] = machine.files()
    expect([name, others, machine.leftovers()]).toEqual(['hero.png', [], []])
    // A PNG file ends so.
    expect(content!.subarray(-8).toString('latin1', 0, 4)).toBe('IEND')
    const { calls } = await machine.document<{ calls: [] }>('log')
    expect(calls).toHaveLength(count)
  })

  test('write the same new file: none replaces what another one has written', async () => {
    const machine = await crashMachine()
    const ended = await callAll(machine, times(image))
    const saved = ended.flatMap(({ exit, stdout }) => (exit === 0 ? [stdout.toString().trim()] : []))
    expect(saved.toSorted()).toEqual([...machine.files().keys()].toSorted())
    expect(saved).toContain('hero.png')
    // Who comes when the name is taken sends nothing.
    expect(machine.sandbox.created()).toBe(saved.length)
    const refused = ended.filter(({ exit }) => exit !== 0)
    for (const { exit, stderr } of refused)
      expect([exit, stderr.split('\n', 1)[0]]).toEqual([10, 'modelgate: "hero.png" already exists.'])
    expect(machine.leftovers()).toEqual([])
  })

  test('write the same text: one has the name, and no answer is lost', async () => {
    const machine = await crashMachine()
    const ended = await callAll(machine, times(text))
    expect(ended.filter(({ exit }) => exit === 0)).toHaveLength(1)
    const refused = ended.filter(({ exit }) => exit !== 0)
    for (const { stderr } of refused) expect(stderr).toContain('modelgate: "note.txt" already exists.')
    const rescued = filesBelow(join(machine.state, 'rescued'))
    expect([1 + rescued.length, [...machine.files().keys()]]).toEqual([
      machine.sandbox.created(),
      ['note.txt'],
    ])
    expect(machine.leftovers()).toEqual([])
  })

  test('wait for the same job: it is on record once, and its file is whole', async () => {
    const machine = await crashMachine()
    await machine.finish(['video', 'generate', '-m', 'veo-3.1', '-o', 'boat.mp4', 'A boat'])
    const ended = await callAll(machine, times(['wait', '--last']))
    expect(ended.map(({ exit, stdout }) => [exit, stdout.toString()])).toEqual(times([0, 'boat.mp4\n']))
    expect([...machine.files().keys()]).toEqual(['boat.mp4'])
    expect(machine.sandbox.created()).toBe(1)
    expect(await machine.document('jobs')).toMatchObject({ jobs: [{ state: 'completed' }], warnings: [] })
    expect([machine.leftovers(), machine.brokenRecords()]).toEqual([[], []])
  })

  test('with room for one creation less: one is refused', async () => {
    const machine = await crashMachine()
    const limit = { MODELGATE_MAX_CREATES: String(count - 1) }
    const ended = await callAll(machine, times([...generate, 'A word']), limit)
    expect(ended.map(({ exit }) => Number(exit)).toSorted((one, other) => one - other)).toEqual([
      ...times(0).slice(1),
      15,
    ])
    expect(machine.sandbox.created()).toBe(count - 1)
  })

  test('change settings: none of the changes is lost', async () => {
    const machine = await crashMachine()
    const chosen = settings.slice(0, count)
    const ended = await callAll(
      machine,
      chosen.map((setting) => ['config', 'set', ...setting]),
    )
    expect(ended.map(({ exit }) => exit)).toEqual(times(0))
    const lines = readFileSync(join(machine.root, 'config/config.yaml'), 'utf8').split('\n')
    expect(lines).toEqual(expect.arrayContaining(chosen.map(([name, value]) => `${name}: ${value}`)))
    expect(machine.leftovers()).toEqual([])
  })

  test('run the same project: one of them makes everything, once', async () => {
    const sandbox = await runningSandbox({ latency: 100 })
    const project = crashProject(sandbox, { 'modelgate.yaml': `version: 1\n${twoImages.jobs}` })
    const ended = await Promise.all(times(['--yes']).map((words) => project.start(words).ended))
    // Who comes when it has ended finds everything done.
    const others = ended.filter(({ exit }) => exit !== 0)
    expect(others.length).toBeLessThan(count)
    for (const { exit, stderr } of others)
      expect([exit, stderr.includes('modelgate.yaml" is already being run by process')]).toEqual([2, true])
    expect([sandbox.created(), project.outputs()]).toEqual([2, twoImages.outputs])
    expect(project.leftovers()).toEqual([])
  })
})
