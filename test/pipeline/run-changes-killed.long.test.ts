import { cpSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sample } from '../support/sample.ts'
import { crashProject, type CrashProject } from './crash-project.ts'
import { atPoints } from '../support/kill-points.ts'

interface Scene {
  readonly name: string
  /** The jobs of the manifest, before and at last; it is run with each but the last. */
  readonly manifests: readonly (readonly string[])[]
  /** How these runs end, by default with 0. */
  readonly earlier?: readonly number[]
  /** Other calls before. */
  readonly before?: readonly (readonly string[])[]
  /** Files that somebody has written after that. */
  readonly edited?: Readonly<Record<string, string>>
  /** Files and folders that are gone after that. */
  readonly removed?: readonly string[]
  /** The words of the call that is killed, behind `run`. */
  readonly call?: readonly string[]
  /** The words of the call that goes on; by default the same. */
  readonly again?: readonly string[]
  /** How that ends, by default with 0. */
  readonly exits?: readonly number[]
  /** How much is created from then on, by default nothing. */
  readonly creates?: readonly number[]
  /** What is locked, and there; by default the note alone. */
  readonly outputs?: readonly string[]
  /** What is there of files that are no outputs any more. */
  readonly gone?: readonly string[]
}

const job = (name: string, input: string, more = '', out = `${name}.txt`) =>
  `  ${name}:\n    respond: { model: some-text-model, input: ${input} }\n    out: ${out}\n${more}`
const note = (more: string) => [job('note', 'A note', more)]
const one = job('note', 'A note')
const another = job('note', 'Another note')
const variants = '    variants: 2\n'
const byHand = { 'note.txt': 'Written by hand.' }

const scenes: readonly Scene[] = [
  { name: 'a changed prompt', manifests: [[one], [another]], creates: [1] },
  { name: 'a prompt that is changed back', manifests: [[one], [another], [one]] },
  {
    name: 'an output with another path',
    manifests: [[one], [job('note', 'A note', '', 'texts/note.txt')]],
    outputs: ['texts/note.txt'],
    gone: ['note.txt'],
  },
  {
    name: 'a job with another name, and another output',
    manifests: [[one], [job('remark', 'A note')]],
    outputs: ['remark.txt'],
    gone: ['note.txt'],
  },
  {
    name: 'two outputs that change places',
    manifests: [
      [job('a', 'One'), job('b', 'Two')],
      [job('a', 'One', '', 'b.txt'), job('b', 'Two', '', 'a.txt')],
    ],
    outputs: ['a.txt', 'b.txt'],
  },
  {
    name: 'a rejected result that is accepted',
    manifests: [note('    assert: { min_chars: 100000 }\n'), note('    assert: { min_chars: 1 }\n')],
    earlier: [12],
  },
  {
    name: 'a candidate that the manifest picks',
    manifests: [note(variants), note(`${variants}    pick: 2\n`)],
    earlier: [13],
  },
  {
    name: 'another candidate that the manifest picks',
    manifests: [note(variants), note(`${variants}    pick: 2\n`), note(`${variants}    pick: 1\n`)],
    earlier: [13],
  },
  {
    name: 'a candidate that is picked',
    manifests: [note(variants), note(variants)],
    earlier: [13],
    call: ['pick', 'note', '2'],
  },
  { name: 'a file that is put aside', manifests: [[one], [one]], edited: byHand, call: ['--yes', '--force'] },
  { name: 'a file that is adopted', manifests: [[one], [one]], edited: byHand, call: ['adopt', 'note'] },
  {
    name: 'a result that is made again',
    manifests: [[one], [one]],
    call: ['--yes', '--regenerate', 'note'],
    again: ['--yes'],
    // Killed before it said so on disk, it is as if it had not been called.
    creates: [0, 1],
  },
  {
    name: 'candidates that are made again',
    manifests: [note(variants), note(variants)],
    earlier: [13],
    before: [['pick', 'note', '2']],
    call: ['--yes', '--regenerate', 'note'],
    again: ['--yes'],
    exits: [0, 13],
    creates: [0, 2],
  },
  {
    name: 'two jobs that ask for the same',
    manifests: [[job('a', 'A note'), job('b', 'A note')]],
    creates: [1],
    outputs: ['a.txt', 'b.txt'],
  },
  {
    name: 'parts that are merged',
    manifests: [[job('a', 'One'), job('b', 'Two')]],
    before: [
      ['--yes', '--shard', '1/2'],
      ['--yes', '--shard', '2/2'],
    ],
    call: ['merge', '.modelgate/parts'],
    // When the lock was written already, it is told that they are in it.
    exits: [0, 2],
    outputs: ['a.txt', 'b.txt'],
  },
  {
    name: 'outputs that are pulled',
    manifests: [[one, job('other', 'Something else')]],
    before: [['--yes'], ['push', '--to', '.']],
    removed: ['note.txt', 'other.txt', '.modelgate/results'],
    call: ['pull', '--from', '.'],
    outputs: ['note.txt', 'other.txt'],
  },
  {
    name: 'what is not needed any more',
    manifests: [[one, job('other', 'Something else')], [one], [one]],
    call: ['clean', '--outputs', '--yes'],
    gone: ['other.txt'],
  },
]

async function prepare(project: CrashProject, scene: Scene): Promise<void> {
  for (const [at, jobs] of scene.manifests.entries()) {
    if (at > 0) await project.finish(['--yes'], scene.earlier?.[at - 1])
    project.write({ 'modelgate.yaml': `version: 1\njobs:\n${jobs.join('')}` })
  }
  for (const words of scene.before ?? []) await project.finish(words)
  project.write(scene.edited ?? {})
  for (const name of scene.removed ?? []) rmSync(project.path(name), { recursive: true })
}

const some = sample(scenes, 4, ({ name }) => name)

test.each(some)(
  '$name: killed anywhere, the next call completes it',
  async (scene) => {
    const { name, call = ['--yes'], again = call, exits = [0], creates = [0], gone = [] } = scene
    const { outputs = ['note.txt'] } = scene
    const prepared = crashProject(await runningSandbox(), {})
    await prepare(prepared, scene)
    const copied = async () => {
      const folder = temporaryFolder()
      cpSync(prepared.folder, folder, { recursive: true })
      const sandbox = await runningSandbox()
      return { sandbox, project: crashProject(sandbox, {}, { folder }) }
    }
    const { project: whole } = await copied()
    const count = (await whole.runTo(0, call)).length
    await atPoints(count, name, async (point) => {
      const { sandbox, project } = await copied()
      const at = (await project.runTo(point, call)).at(-1)
      const { exit, stderr } = await project.start(again).ended
      const isExpected = exits.some((one) => one === exit)
      const account = {
        ...project.accountOf({ exit: isExpected ? 0 : exit, stderr }),
        gone: gone.filter((name) => !project.exists(name)),
      }
      const whole = Object.fromEntries(outputs.map((path) => [path, true]))
      expect.soft(account, `killed at ${at}`).toEqual({ exit: 0, stderr: '', outputs: whole, gone, left: [] })
      expect.soft(creates, `killed at ${at}`).toContain(sandbox.created())
      await sandbox.close()
    })
  },
  3_600_000,
)
