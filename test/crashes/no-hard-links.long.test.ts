import { linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { crashProject } from '../pipeline/crash-project.ts'
import { runToPoint } from '../support/run-to-point.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { exfatFolder, hasExfat } from '../support/small-disks.ts'
import { crashMachine } from './machine.ts'

const image = ['image', 'create', '-m', 'gpt-image-2', '-o', 'hero.png', 'A boat']

describe.skipIf(!hasExfat)('a folder without hard links (needs exfat-fuse, exfatprogs, loop devices)', () => {
  test('there are none', () => {
    const folder = exfatFolder()
    writeFileSync(join(folder, 'one'), '')
    expect(() => linkSync(join(folder, 'one'), join(folder, 'two'))).toThrow('EPERM')
  })

  test('images, videos, texts, the log and settings are written', async () => {
    const machine = await crashMachine({ root: exfatFolder() })
    await machine.finish(image)
    await machine.finish(['video', 'generate', '-m', 'veo-3.1', '--wait', '-o', 'boat.mp4', 'A boat'])
    await machine.finish(['generate', '-m', 'sandbox-text', '-o', 'note.txt', 'A note'])
    await machine.finish(['config', 'set', 'text_model', 'some-model'])
    expect([...machine.files().keys()].toSorted()).toEqual(['boat.mp4', 'hero.png', 'note.txt'])
    expect([...machine.files().values()].every(({ length }) => length > 100)).toBe(true)
    const { calls } = JSON.parse((await machine.finish(['log', '--json'])).stdout.toString()) as { calls: [] }
    expect(calls).toHaveLength(3)
    expect(readFileSync(join(machine.root, 'config/config.yaml'), 'utf8')).toContain(
      'text_model: some-model\n',
    )
    expect([machine.leftovers(), machine.brokenRecords()]).toEqual([[], []])
  })

  test('of eight processes at once none replaces what another one has written', async () => {
    const machine = await crashMachine({ root: exfatFolder() })
    const all = await Promise.all(Array.from({ length: 8 }, () => machine.start(image).ended))
    // What was paid for before the name was taken gets another one; who comes later sends nothing.
    const saved = all.flatMap(({ exit, stdout }) => (exit === 0 ? [stdout.toString().trim()] : []))
    const refused = all.filter(({ exit }) => exit !== 0)
    expect(saved.toSorted()).toEqual([...machine.files().keys()].toSorted())
    expect(saved).toContain('hero.png')
    for (const { stderr } of refused) expect(stderr).toContain('"hero.png" already exists')
    expect(machine.sandbox.created()).toBe(saved.length)
    expect([...machine.files().values()].filter(({ length }) => length < 1000)).toEqual([])
    await machine.finish(image, 10)
    expect(machine.leftovers()).toEqual([])
  })

  test('killed at any step, a file is whole, or empty for the moment of its naming', async () => {
    const measured = await crashMachine({ root: exfatFolder() })
    const points = await runToPoint((env) => measured.start(image, env), 0)
    const whole = measured.files().get('hero.png')!
    const naming = points.flatMap((point, at) =>
      / (?:link|open|close|rename|sync|unlink) /.test(point) ? [at + 1] : [],
    )
    for (const point of naming.slice(-8)) {
      const machine = await crashMachine({ root: exfatFolder() })
      await runToPoint((env) => machine.start(image, env), point)
      const content = machine.files().get('hero.png') ?? Buffer.alloc(0)
      expect(content.length === 0 || content.equals(whole), `killed at ${points[point - 1]}`).toBe(true)
    }
  })

  test('a run makes its outputs, keeps and restores them', async () => {
    const sandbox = await runningSandbox()
    const files = {
      'modelgate.yaml': `version: 1
jobs:
  note: { respond: { model: some-text-model, input: A note }, out: note.txt }
  hero: { image create: { model: gpt-image-2, prompt: A boat }, out: pictures/hero.png }
  film: { video generate: { model: veo-3.1, prompt: Waves, image: "@hero" }, out: film.mp4 }
`,
    }
    const project = crashProject(sandbox, files, { folder: exfatFolder() })
    const outputs = { 'note.txt': true, 'pictures/hero.png': true, 'film.mp4': true }
    await project.finish()
    expect([project.outputs(), project.leftovers()]).toEqual([outputs, []])
    // From the store, without a creation.
    project.write({ 'note.txt': 'Something else.' })
    await project.finish(['--yes', '--force'])
    expect([project.outputs(), sandbox.created()]).toEqual([outputs, 3])
    expect(readdirSync(project.runs).filter((name) => name.includes('.owner'))).toEqual([])
  })
})
