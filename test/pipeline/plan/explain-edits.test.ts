import * as fc from 'fast-check'
import { join } from 'node:path'
import { test, expect } from 'vitest'
import { readManifest } from '../../../src/pipeline/manifest/read-manifest.ts'
import type { Manifest } from '../../../src/pipeline/manifest/manifest.ts'
import { assess } from '../../../src/pipeline/plan/assess.ts'
import type { Assessment } from '../../../src/pipeline/plan/project-state.ts'
import { planRun } from '../../../src/pipeline/plan/plan-run.ts'
import { upstreamOf } from '../../../src/pipeline/plan/result-files.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { testContext } from '../../support/test-context.ts'
import { createSampleWorld, factsOf, type SampleWorld } from './sample-world.ts'
import { runs } from '../../support/sample.ts'

interface Job {
  each?: string
  out: string
  alt?: string
  assert?: object
  [command: string]: unknown
}

interface Source {
  version: 1
  gateway?: string
  defaults: Record<string, Record<string, unknown>>
  jobs: Record<string, Job>
}

type Files = Record<string, string | Uint8Array>

/** What a manifest and its files are before and after an edit. */
interface Edited {
  readonly source: Source
  readonly files: Files
}

/** The sentences that a plan says of each instance that is not fresh. */
type Explained = Readonly<Record<string, readonly string[]>>

const source: Source = {
  version: 1,
  defaults: { 'image create': { model: 'gpt-image-2', output_format: 'webp' } },
  jobs: {
    hero: {
      'image create': { prompt: { file: 'prompts/hero.md' }, size: '1024x1024', quality: 'high' },
      out: 'assets/hero.webp',
      alt: 'Harbour',
    },
    banner: {
      'image edit': { model: 'gpt-image-2', prompt: 'Wide', image: '@hero', mask: 'masks/left.png' },
      out: 'assets/banner.png',
    },
    note: {
      respond: {
        model: 'some-text-model',
        input: 'What is a harbour?',
        attach: ['data/facts.txt', 'masks/left.png'],
        schema: 'schemas/note.json',
        temperature: 0.5,
      },
      out: 'copy/note.json',
    },
    photos: {
      each: 'data/products.csv',
      'image create': { prompt: '${name} on white', background: 'opaque' },
      out: 'assets/${id}.webp',
    },
    captions: {
      each: 'data/products.csv',
      generate: { model: 'some-text-model', prompt: 'A caption in ${lang}', seed: 7 },
      out: 'copy/${id}.txt',
    },
  },
}

const files: Files = {
  'prompts/hero.md': 'A harbour at dawn',
  'masks/left.png': pngBytes(),
  'data/facts.txt': 'Ships.',
  'schemas/note.json': '{"type":"object"}',
  'data/products.csv': 'id,name,lang\nshoe,Red shoe,en\nhat,Blue hat,de\n',
}

const commandOf: Readonly<Record<string, string>> = {
  hero: 'image create',
  banner: 'image edit',
  note: 'respond',
  photos: 'image create',
  captions: 'generate',
}

const instancesOf = (job: string) =>
  source.jobs[job]!.each === undefined ? [job] : [`${job}[shoe]`, `${job}[hat]`]
const fieldsOf = (edited: Edited, job: string) =>
  edited.source.jobs[job]![commandOf[job]!] as Record<string, unknown>

/** The same for all instances of a job. */
const explained = (job: string, reason: string): Explained =>
  Object.fromEntries(instancesOf(job).map((id) => [id, [reason]]))

/** An edit, which says what a plan has to say of it. */
type Edit = (edited: Edited) => Explained

const word = fc.stringMatching(/^[a-z]{1,8}$/)

/** Another text in a field. */
const textEdits = fc
  .tuple(
    fc.constantFrom(['banner', 'prompt'], ['note', 'input'], ['photos', 'prompt'], ['captions', 'prompt']),
    word,
  )
  .map(([[job, field], added]): Edit => (edited) => {
    const fields = fieldsOf(edited, job!)
    fields[field!] = `${String(fields[field!])} ${added}`
    return explained(job!, `\`${field}\` changed.`)
  })

/** A value in a field, which had another one or none. */
const settings = (what: string, ...cases: (readonly [job: string, field: string, value: unknown])[]) =>
  fc.constantFrom(...cases).map(([job, field, value]): Edit => (edited) => {
    fieldsOf(edited, job)[field] = value
    return explained(job, `\`${field}\` ${what}.`)
  })

const valueEdits = settings(
  'changed',
  ['hero', 'size', '1536x1024'],
  ['hero', 'quality', 'low'],
  ['photos', 'background', 'transparent'],
  ['captions', 'seed', 8],
  ['note', 'temperature', 0.7],
  ['note', 'temperature', 1],
)

const additions = settings(
  'was added',
  ['banner', 'size', '1024x1024'],
  ['banner', 'quality', 'low'],
  ['photos', 'size', '1024x1024'],
  ['captions', 'temperature', 0.2],
  ['note', 'instructions', 'Be brief.'],
)

const removals = fc
  .constantFrom(
    ['hero', 'size'],
    ['hero', 'quality'],
    ['banner', 'mask'],
    ['note', 'attach'],
    ['note', 'schema'],
    ['note', 'temperature'],
    ['photos', 'background'],
    ['captions', 'seed'],
  )
  .map(([job, field]): Edit => (edited) => {
    delete fieldsOf(edited, job!)[field!]
    return explained(job!, `\`${field}\` was removed.`)
  })

/** Other bytes in a file. */
const fileEdits = fc
  .tuple(fc.constantFrom('prompts/hero.md', 'data/facts.txt', 'schemas/note.json', 'masks/left.png'), word)
  .map(([path, added]): Edit => ({ files }) => {
    if (path === 'masks/left.png') {
      files[path] = pngBytes({ width: 3 })
      return {
        banner: [`\`mask\` changed (${path}).`],
        note: [`\`attach\` changed (data/facts.txt, ${path}).`],
      }
    }
    files[path] = path.endsWith('.json')
      ? `{"type":"object","title":"${added}"}`
      : `${String(files[path])} ${added}`
    if (path === 'prompts/hero.md') return { hero: [`\`prompt\` changed (${path}).`] }
    return path === 'data/facts.txt'
      ? { note: [`\`attach\` changed (${path}, masks/left.png).`] }
      : { note: ['`schema` changed.'] }
  })

/** Another cell in a row. */
const cellEdits = fc
  .tuple(
    fc.constantFrom(
      ['shoe', 'Red shoe', 'photos'],
      ['hat', 'Blue hat', 'photos'],
      ['shoe', 'en', 'captions'],
      ['hat', 'de', 'captions'],
    ),
    word,
  )
  .map(([[row, cell, job], added]): Edit => ({ files }) => {
    files['data/products.csv'] = String(files['data/products.csv']).replace(
      new RegExp(`^(${row},.*?)${cell}`, 'm'),
      `$1${cell} ${added}`,
    )
    return { [`${job}[${row}]`]: ['`prompt` changed.'] }
  })

const sharedEdits = fc.constantFrom<Edit>(
  ({ source }) => {
    source.defaults['image create']!['model'] = 'another-model'
    return { ...explained('hero', '`model` changed.'), ...explained('photos', '`model` changed.') }
  },
  ({ source }) => {
    source.defaults['image create']!['size'] = '1536x1024'
    return explained('photos', '`size` was added.')
  },
  ({ source }) => {
    source.gateway = 'other'
    return Object.fromEntries(
      Object.keys(source.jobs).flatMap((job) => instancesOf(job).map((id) => [id, ['`gateway` was added.']])),
    )
  },
)

/** What no key depends on. */
const neutralEdits = fc
  .constantFrom<(edited: Edited) => unknown>(
    ({ source }) => (source.jobs['hero']!.alt = 'Another harbour'),
    ({ source }) => (source.jobs['banner']!.assert = { max_bytes: 100_000 }),
    ({ source }) => (source.jobs = Object.fromEntries(Object.entries(source.jobs).toReversed())),
    ({ files }) =>
      (files['data/products.csv'] = 'id,name,lang,stock\r\nhat,Blue hat,de,3\r\nshoe,Red shoe,en,4\r\n'),
    (edited) => {
      edited.files['prompts/wide.txt'] = '\ufeffWide'
      fieldsOf(edited, 'banner')['prompt'] = { file: 'prompts/wide.txt' }
    },
    (edited) => (fieldsOf(edited, 'hero')['prompt'] = 'A harbour at dawn'),
    ({ source }) => {
      const { hero, ...others } = source.jobs
      const { alt: _, ...same } = hero!
      source.jobs = { ...others, hero: same as Job }
    },
  )
  .map((edit): Edit => (edited) => {
    edit(edited)
    return {}
  })

const edits = fc.oneof(
  textEdits,
  valueEdits,
  additions,
  removals,
  fileEdits,
  cellEdits,
  sharedEdits,
  neutralEdits,
)

async function read(world: SampleWorld, edited: Edited): Promise<Manifest> {
  world.write({ ...edited.files, 'modelgate.yaml': JSON.stringify(edited.source) })
  const path = join(world.folder, 'modelgate.yaml')
  return await readManifest(testContext({ cwd: world.folder }), path, {
    isSandbox: false,
    env: {},
    families: {},
  })
}

/** Locks everything as made. */
async function makeAll(world: SampleWorld): Promise<void> {
  const manifest = await read(world, { source, files })
  const assessments = new Map<string, Assessment>()
  for (const [id, instance] of manifest.instances) {
    const now = world.world({ manifest })
    const upstream = (one: Parameters<typeof upstreamOf>[0]) => upstreamOf(one, assessments, now)
    const { key, fields } = await assess(instance, now, upstream)
    const outputs = [factsOf(instance.output, id, instance.lane)]
    world.write({ [instance.output]: id })
    const provenance = {
      model: null,
      origin: null,
      request_id: null,
      job_id: null,
      usage: null,
      took_s: null,
    }
    const block = {
      ...provenance,
      outputs,
      key: key!,
      fields: fields!,
      picked: null,
      adopted: null,
      prompt: null,
    }
    world.lock.set(id, block)
    assessments.set(id, await assess(instance, world.world({ manifest }), upstream))
  }
}

test('of 500 single edits of a manifest or its files the plan names exactly the field that was edited', async () => {
  const world = createSampleWorld()
  await makeAll(world)
  const property = fc.asyncProperty(edits, async (edit) => {
    const edited = structuredClone({ source, files })
    const expected = { ...edit(edited) }
    // Its key is not known before the other one is made.
    if (expected['hero'] !== undefined) expected['banner'] = ['It needs @hero, which is made first.']
    const manifest = await read(world, edited)
    const all = new Set(manifest.instances.keys())
    const { signal } = new AbortController()
    const estimate = () => ({ creates: 1, cost: null })
    const { assessments } = await planRun(world.world({ manifest }), all, { estimate, signal })
    const stale = [...assessments].filter(([, { state }]) => state !== 'fresh')
    expect(Object.fromEntries(stale.map(([id, { reasons }]) => [id, reasons]))).toEqual(expected)
  })
  await fc.assert(property, runs(500))
})
