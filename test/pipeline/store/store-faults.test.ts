import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import { provenanceOf, type LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { readLock, writeLock } from '../../../src/pipeline/lock/project-lock.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/replaced.ts'
import { Results, type StoredResult } from '../../../src/pipeline/store/results.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { placeOutput } from '../../../src/pipeline/store/place-output.ts'
import { withFsFault, type FsFault } from '../../support/fs-faults.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sample } from '../../support/sample.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { digestOf, fetched } from './store-samples.ts'

const [old, fresh] = [digestOf('old'), digestOf('new')]
const key = 'a'.repeat(64)

const block = (sha256: string): LockBlock => {
  const [output] = sampleBlock.outputs
  return { ...sampleBlock, key, outputs: [{ ...output!, path: 'hero.png', sha256, media_type: 'image/png' }] }
}

const resultOf = (sha256: string, path: string): StoredResult => {
  const outputs = block(sha256).outputs.map((output) => ({ ...output, path: '1.png' }))
  const result = { ...provenanceOf(sampleBlock), outputs }
  return { instance: 'hero', key, variant: 1, result, cost: null, warnings: [], files: [path] }
}

/** A project with an older output, lock and candidate, and a file with a new result. */
async function setUp() {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const context = testContext({ cwd: folder })
  writeFiles(folder, { 'work/new': 'new', 'work/old': 'old', 'art/hero.png': 'old' })
  const work = join(folder, 'work/new')
  const store = () => new Replaced(context, project)
  const has = async (sha256: string) => (await store().open(sha256)) !== undefined
  mkdirSync(join(folder, 'share'))
  const shared = () => openFolderStore(context, join(folder, 'share'))
  await (await shared()).put(join(folder, 'work/old'), old)
  const results = () => new Results(project, store())
  await results().take(resultOf(old, join(folder, 'work/old')))
  await writeLock(context, project, new Map([['hero', block(old)]]))
  const placing = { source: work, sha256: fresh, isText: false, path: 'art/hero.png', mayReplace: [old] }
  return {
    folder,
    work,
    store,
    has,
    shared,
    results,
    add: () => store().add(work, false),
    keep: () => results().take(resultOf(fresh, work)),
    place: () => placeOutput(context, project, placing),
    lock: () => writeLock(context, project, new Map([['hero', block(fresh)]])),
    locked: async () => (await readLock(context, project)).get('hero')?.outputs[0]?.sha256,
  }
}

type Setting = Awaited<ReturnType<typeof setUp>>

const actions: Readonly<
  Record<
    string,
    {
      run(setting: Setting): Promise<unknown>
      /** What must hold, however the action ended. */
      check(setting: Setting): Promise<void>
      /** What must hold when it is done, also at the second time. */
      done(setting: Setting): Promise<void>
    }
  >
> = {
  'a blob is added': {
    run: ({ add }) => add(),
    check: async ({ work }) => expect(readFileSync(work, 'utf8')).toBe('new'),
    done: async ({ has }) => expect(await has(fresh)).toBe(true),
  },
  'a file is put into a shared folder': {
    run: async ({ shared, work }) => (await shared()).put(work, fresh),
    check: async ({ work }) => expect(readFileSync(work, 'utf8')).toBe('new'),
    done: async ({ shared }) => expect(await fetched(await shared(), fresh)).toBe('new'),
  },
  'a file is fetched from a shared folder': {
    run: async ({ shared, folder }) => (await shared()).fetch(old, join(folder, 'art/fetched')),
    check: async ({ folder }) => {
      const path = join(folder, 'art/fetched')
      expect([undefined, 'old']).toContain(existsSync(path) ? readFileSync(path, 'utf8') : undefined)
    },
    done: async ({ folder }) => expect(readFileSync(join(folder, 'art/fetched'), 'utf8')).toBe('old'),
  },
  'an output is placed': {
    run: ({ place }) => place(),
    check: async ({ folder, work }) => {
      expect(readFileSync(work, 'utf8')).toBe('new')
      expect(['old', 'new']).toContain(readFileSync(join(folder, 'art/hero.png'), 'utf8'))
    },
    done: async ({ folder }) => expect(readFileSync(join(folder, 'art/hero.png'), 'utf8')).toBe('new'),
  },
  'a result is taken in place of another': {
    run: ({ keep }) => keep(),
    check: async ({ results, has }) => {
      const there = (await results().get(key))?.result.outputs[0]?.sha256
      expect([undefined, old, fresh]).toContain(there)
      expect(there === old || (await has(old))).toBe(true)
    },
    done: async ({ results }) => expect((await results().get(key))?.result.outputs[0]?.sha256).toBe(fresh),
  },
  'the lock is written': {
    run: ({ lock }) => lock(),
    check: async ({ locked }) => expect([old, fresh]).toContain(await locked()),
    done: async ({ locked }) => expect(await locked()).toBe(fresh),
  },
}

async function withFault(name: string, fault: FsFault) {
  const setting = await setUp()
  const { run, check, done } = actions[name]!
  let failure: unknown
  const { steps, value } = await withFsFault(fault, async () => {
    try {
      await run(setting)
      return 'done'
    } catch (error) {
      failure = error
      return 'failed'
    }
  })
  await check(setting)
  return { setting, steps, value, failure, run, done }
}

/** Each step with each fault, or some of these. */
const faultsOf = (name: string, steps: readonly string[], kinds: readonly string[]): readonly FsFault[] =>
  sample(
    [...steps.keys()].flatMap((step) => kinds.map((fault) => ({ step, fault }))),
    { quick: 4, ci: 12 },
    ({ step, fault }) => `${name}, ${step}, ${fault}`,
  )

test.each(Object.keys(actions))(
  '%s: killed at any step, nothing is lost or torn, and again it works',
  async (name) => {
    const { steps, setting, value, done: isDone } = await withFault(name, { step: -1, fault: 'none' })
    expect(value).toBe('done')
    await isDone(setting)
    expect(steps.length).toBeGreaterThan(3)
    for (const fault of faultsOf(name, steps, ['stop before', 'stop after'])) {
      const { setting: left, run, done } = await withFault(name, fault)
      await run(left)
      await done(left)
    }
  },
)

test.each(Object.keys(actions))(
  '%s: a disk that refuses any step is told, and again it works',
  async (name) => {
    const { steps } = await withFault(name, { step: -1, fault: 'none' })
    for (const fault of faultsOf(name, steps, ['ENOSPC', 'EIO'])) {
      const { setting, value, failure, run, done } = await withFault(name, fault)
      // What is done for tidiness alone may fail.
      const outcome = failure instanceof ModelgateError ? failure.exit : value
      expect(['done', 'io'], `${steps[fault.step]} ${fault.fault}: ${String(failure)}`).toContain(outcome)
      if (value === 'done') await done(setting)
      await run(setting)
      await done(setting)
    }
  },
)
