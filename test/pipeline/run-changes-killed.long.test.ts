import { cpSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { atPoints } from './kill-points.ts'
import { crashProject, type CrashProject } from './crash-project.ts'
import { sample } from '../support/sample.ts'

interface Scene {
  readonly name: string
  readonly manifest: string
  /** What is there before. */
  prepare(project: CrashProject): Promise<unknown>
  /** The words of the call that is killed, behind `run`. */
  readonly call: readonly string[]
  /** The words of the call that goes on; by default the same. */
  readonly again?: readonly string[]
  /** How that ends, by default with 0. */
  readonly exits?: readonly number[]
  /** How much is created from then on. */
  readonly creates: readonly number[]
  readonly outputs: Readonly<Record<string, boolean>>
  /** What is there of files that are no outputs any more. */
  readonly gone?: readonly string[]
}

const job = (name: string, input: string, more = '', out = `${name}.txt`) =>
  `  ${name}:\n    respond: { model: some-text-model, input: ${input} }\n    out: ${out}\n${more}`
const manifest = (...jobs: readonly string[]) => `version: 1\njobs:\n${jobs.join('')}`
const write = (project: CrashProject, ...jobs: readonly string[]) =>
  project.write({ 'modelgate.yaml': manifest(...jobs) })

const one = job('note', 'A note')
const run = ['--yes']

const scenes: readonly Scene[] = [
  {
    name: 'a changed prompt',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      write(project, job('note', 'Another note'))
    },
    call: run,
    creates: [1],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a prompt that is changed back',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      write(project, job('note', 'Another note'))
      await project.finish()
      write(project, one)
    },
    call: run,
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'an output with another path',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      write(project, job('note', 'A note', '', 'texts/note.txt'))
    },
    call: run,
    creates: [0],
    outputs: { 'texts/note.txt': true },
    gone: ['note.txt'],
  },
  {
    name: 'a job with another name, and another output',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      write(project, job('remark', 'A note'))
    },
    call: run,
    creates: [0],
    outputs: { 'remark.txt': true },
    gone: ['note.txt'],
  },
  {
    name: 'two outputs that change places',
    manifest: manifest(job('a', 'One'), job('b', 'Two')),
    async prepare(project) {
      await project.finish()
      write(project, job('a', 'One', '', 'b.txt'), job('b', 'Two', '', 'a.txt'))
    },
    call: run,
    creates: [0],
    outputs: { 'a.txt': true, 'b.txt': true },
  },
  {
    name: 'a rejected result that is accepted',
    manifest: manifest(job('note', 'A note', '    assert: { min_chars: 100000 }\n')),
    async prepare(project) {
      await project.finish(run, 12)
      write(project, job('note', 'A note', '    assert: { min_chars: 1 }\n'))
    },
    call: run,
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a candidate that the manifest picks',
    manifest: manifest(job('note', 'A note', '    variants: 2\n')),
    async prepare(project) {
      await project.finish(run, 13)
      write(project, job('note', 'A note', '    variants: 2\n    pick: 2\n'))
    },
    call: run,
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'another candidate that the manifest picks',
    manifest: manifest(job('note', 'A note', '    variants: 2\n')),
    async prepare(project) {
      await project.finish(run, 13)
      write(project, job('note', 'A note', '    variants: 2\n    pick: 2\n'))
      await project.finish(run)
      write(project, job('note', 'A note', '    variants: 2\n    pick: 1\n'))
    },
    call: run,
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a candidate that is picked',
    manifest: manifest(job('note', 'A note', '    variants: 2\n')),
    prepare: (project) => project.finish(run, 13),
    call: ['pick', 'note', '2'],
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a file that is put aside',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      project.write({ 'note.txt': 'Written by hand.' })
    },
    call: ['--yes', '--force'],
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a file that is adopted',
    manifest: manifest(one),
    async prepare(project) {
      await project.finish()
      project.write({ 'note.txt': 'Written by hand.' })
    },
    call: ['adopt', 'note'],
    creates: [0],
    outputs: { 'note.txt': true },
  },
  {
    name: 'a result that is made again',
    manifest: manifest(one),
    prepare: (project) => project.finish(),
    call: ['--yes', '--regenerate', 'note'],
    again: run,
    // Killed before it said so on disk, it is as if it had not been called.
    creates: [0, 1],
    outputs: { 'note.txt': true },
  },
  {
    name: 'two jobs that ask for the same',
    manifest: manifest(job('a', 'A note'), job('b', 'A note')),
    prepare: async (project) => project.write({}),
    call: run,
    creates: [1],
    outputs: { 'a.txt': true, 'b.txt': true },
  },
  {
    name: 'parts that are merged',
    manifest: manifest(job('a', 'One'), job('b', 'Two')),
    async prepare(project) {
      await project.finish(['--yes', '--shard', '1/2'])
      await project.finish(['--yes', '--shard', '2/2'])
    },
    call: ['merge', '.modelgate/parts'],
    // When the lock was written already, it is told that they are in it.
    exits: [0, 2],
    creates: [0],
    outputs: { 'a.txt': true, 'b.txt': true },
  },
  {
    name: 'what is not needed any more',
    manifest: manifest(one, job('other', 'Something else')),
    async prepare(project) {
      await project.finish()
      write(project, one)
      await project.finish()
    },
    call: ['clean', '--outputs', '--yes'],
    creates: [0],
    outputs: { 'note.txt': true },
    gone: ['other.txt'],
  },
]

const some = sample(scenes, { quick: 0, ci: 4 }, ({ name }) => name)

test.each(some)(
  '$name: killed anywhere, the next call completes it',
  async (scene) => {
    const prepared = crashProject(await runningSandbox(), { 'modelgate.yaml': scene.manifest })
    await scene.prepare(prepared)
    const copied = async () => {
      const folder = temporaryFolder()
      cpSync(prepared.folder, folder, { recursive: true })
      const sandbox = await runningSandbox()
      return { sandbox, project: crashProject(sandbox, {}, { folder }) }
    }
    const { project: whole } = await copied()
    const count = (await whole.runTo(0, scene.call)).length
    await atPoints(count, scene.name, async (point) => {
      const { sandbox, project } = await copied()
      const at = (await project.runTo(point, scene.call)).at(-1)
      const { exit, stderr } = await project.start(scene.again ?? scene.call).ended
      const isExpected = (scene.exits ?? [0]).some((one) => one === exit)
      const account = {
        exit: isExpected ? 0 : exit,
        stderr: isExpected ? '' : stderr,
        outputs: project.outputs(),
        gone: (scene.gone ?? []).filter((name) => !project.exists(name)),
        left: project.leftovers(),
      }
      expect
        .soft(account, `killed at ${at}`)
        .toEqual({ exit: 0, stderr: '', outputs: scene.outputs, gone: scene.gone ?? [], left: [] })
      expect.soft(scene.creates, `killed at ${at}`).toContain(sandbox.created())
      await sandbox.close()
    })
  },
  3_600_000,
)
