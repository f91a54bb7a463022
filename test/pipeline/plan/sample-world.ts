import { hash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { History, openJournal, type JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import { provenanceOf, type LockBlock, type OutputFacts } from '../../../src/pipeline/lock/lock-block.ts'
import {
  referencesOf,
  type Instance,
  type Job,
  type Manifest,
} from '../../../src/pipeline/manifest/manifest.ts'
import {
  ProjectState,
  type Assessment,
  type Forced,
  type ProjectParts,
} from '../../../src/pipeline/plan/project-state.ts'
import { planRun } from '../../../src/pipeline/plan/plan-run.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/blob-store.ts'
import { Results } from '../../../src/pipeline/store/results.ts'
import { digestOfInput } from '../../../src/pipeline/store/file-digest.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { instanceOf, textField } from '../../support/pipeline-task.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const provenance = { ...provenanceOf(sampleBlock), took_s: 4 }

/** What is known of an output with these bytes; of a text the bytes have LF. */
export function factsOf(
  path: string,
  bytes: string | Uint8Array,
  lane: Instance['lane'] = 'image',
): OutputFacts {
  return {
    path,
    sha256: hash('sha256', bytes),
    bytes: Buffer.byteLength(bytes),
    media_type: { text: 'text/plain', image: 'image/png', video: 'video/mp4' }[lane],
    width: null,
    height: null,
    seconds: null,
    credentials: false,
  }
}

/**
 * A project in a folder of its own whose manifest, lock and journal are made by the test.
 * @param defined its first instances, and what is special of them
 */
export function createSampleWorld(defined: Readonly<Record<string, Partial<Instance>>> = {}) {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const history = new History()
  const inQueue = new Set<string>()
  const lock = new Map<string, LockBlock>()
  const context = {
    cwd: folder,
    platform: 'linux',
    clock: fakeClock(),
    signal: new AbortController().signal,
  } as const
  const replaced = new Replaced(context, project)
  const results = new Results(project, replaced)
  const instances = new Map<string, Instance>()

  /** Adds an instance, or puts another one in its place, in the same order. */
  function define(id: string, changes: Partial<Instance> = {}): void {
    const job = id.replace(/\[.*/, '')
    const instance = instanceOf({
      id,
      job,
      command: 'image create',
      model: 'gpt-image-2',
      fields: textFields({ prompt: `A picture of ${job}` }),
      output: `assets/${job}.png`,
      ...changes,
    })
    const references = changes.references ?? Object.values(instance.fields).flatMap(referencesOf)
    instances.set(id, { ...instance, references })
  }
  for (const [id, changes] of Object.entries(defined)) define(id, changes)
  const world = (changes: Partial<ProjectParts> = {}) => {
    const manifest: Manifest = {
      project,
      sha256: '',
      gateway: null,
      budget: { creates: null, cost: null },
      lanes: { text: 8, image: 4, video: 2 },
      locksPrompts: false,
      jobs: jobsOf(instances),
      instances,
      warnings: [],
      fanOuts: [],
      expand: async () => manifest,
    }
    return new ProjectState({
      isSentAgain: false,
      inQueue,
      queue: null,
      manifest,
      lock,
      history,
      results,
      replaced,
      inputDigest: async (path) => (await digestOfInput(join(folder, path)))!.sha256,
      // Bytes that begin with `bad` hold no assert.
      checkAsserts: (_, outputs, duplicateOf) =>
        Promise.resolve(
          outputs.flatMap(({ path, facts }) => {
            const other = duplicateOf(facts.sha256)
            const isBad = readFileSync(path, 'utf8').startsWith('bad')
            return [...(isBad ? ['It is bad.'] : []), ...(other ? [`It is ${other} again.`] : [])]
          }),
        ),
      forced: { regenerate: new Set(), force: false },
      now: Date.UTC(2026, 0, 1),
      ...changes,
    })
  }
  const plan = (forced: Partial<Forced> = {}) => {
    const all = world({ forced: { regenerate: new Set(), force: false, ...forced } })
    return planRun(all, new Set(instances.keys()), { signal: context.signal })
  }
  const assess = async (id: string, forced?: Partial<Forced>) => (await plan(forced)).assessments.get(id)!
  const keyOf = async (id: string, variant = 1) => (await assess(id)).keys[variant - 1]!
  const write = (files: Parameters<typeof writeFiles>[1]) => writeFiles(project.outputFolder, files)

  /** Makes bytes a result of an instance as it is now. @returns its key */
  const offer = async (id: string, bytes: string, variant = 1) => {
    const key = await keyOf(id, variant)
    const { lane } = instances.get(id)!
    const name = { text: '1.txt', image: '1.png', video: '1.mp4' }[lane]
    const file = join(temporaryFolder(), name)
    writeFileSync(file, bytes)
    const result = { ...provenance, outputs: [factsOf(name, bytes, lane)] }
    await results.take({ instance: id, key, variant, result, cost: null, warnings: [], files: [file] })
    return key
  }

  return {
    folder,
    project,
    context,
    history,
    /** Leaves a run with these events on the disk. @returns its id */
    async leaveRun(events: readonly JournalEvent[], hasEnded = true) {
      const journal = await openJournal(project, context.clock, null)
      for (const event of events) await journal.append(event)
      if (hasEnded) await journal.append({ type: 'end', run: journal.run })
      await journal.close()
      return journal.run
    },
    /** As the test has made it; what is changed is on the disk. */
    lock,
    replaced,
    results,
    define,
    /** Takes an instance out of the manifest. */
    undefine: (id: string) => void instances.delete(id),
    write,
    remove: (path: string) => rmSync(join(project.outputFolder, path), { recursive: true }),
    read(path: string) {
      const full = join(project.outputFolder, path)
      return existsSync(full) ? readFileSync(full, 'utf8') : undefined
    },
    /** Puts bytes among those that were put aside. */
    keep(bytes: string) {
      const sha256 = hash('sha256', bytes)
      writeFiles(join(project.stateFolder, 'replaced', sha256.slice(0, 2)), { [sha256]: bytes })
    },
    /** Locks bytes as the output of an instance as it is now, and writes them. */
    async make(id: string, bytes: string, changes: Partial<LockBlock> & { readonly variant?: number } = {}) {
      const { variant = 1, ...others } = changes
      const { fields, keys, instance } = await assess(id)
      const outputs = [factsOf(instance.output.replace('{ext}', 'png'), bytes, instance.lane)]
      const made = { key: keys[variant - 1]!, fields: fields!, picked: null, adopted: null, prompt: null }
      lock.set(id, { ...provenance, outputs, ...made, ...others })
      for (const { path } of outputs) write({ [path]: bytes })
    },
    /** Makes bytes the result of an instance as it is now, which the journal has, too. */
    async record(id: string, bytes: string, event: { variant?: number; rejected?: readonly string[] } = {}) {
      const { variant = 1, rejected = null } = event
      const key = await offer(id, bytes, variant)
      history.note({ type: 'result', instance: id, key, variant, rejected })
      return key
    },
    offer,
    keyOf,
    world,
    plan,
    /** Keys that the queue of the run knows. */
    inQueue,
    assess,
  }
}

export type SampleWorld = ReturnType<typeof createSampleWorld>
/** Something that happens in a world. */
export type Step = (world: SampleWorld) => unknown

/** What was found of an instance: `STATE, to make VARIANTS: reasons`. */
export function tell({ state, reasons, toMake }: Assessment): string {
  const numbers = toMake.map(({ number }) => ` ${number}`).join('')
  const sentences = reasons.map((reason) => ` ${reason}`).join('')
  return `${state}${numbers && `, to make${numbers}`}${sentences && `:${sentences}`}`
}

/** Fields with written texts. */
export function textFields(texts: Readonly<Record<string, string>>): Instance['fields'] {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, textField(text)]))
}

function jobsOf(instances: ReadonlyMap<string, Instance>): readonly Job[] {
  const jobs = Map.groupBy(instances.values(), ({ job }) => job)
  return Array.from(jobs, ([name, own]) => ({ name, instances: own.map(({ id }) => id) }))
}
