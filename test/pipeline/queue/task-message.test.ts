import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { UsageError } from '../../../src/errors.ts'
import { buildRequest } from '../../../src/pipeline/execute/task-body.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { UpstreamResult } from '../../../src/pipeline/execute/task.ts'
import type { Instance, Manifest } from '../../../src/pipeline/manifest/manifest.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { encodeTask } from '../../../src/pipeline/queue/encode-task.ts'
import { placeInputs } from '../../../src/pipeline/queue/place-inputs.ts'
import { decodeTask, type TaskMessage } from '../../../src/pipeline/queue/task-message.ts'
import { createInputDigests } from '../../../src/pipeline/store/file-digest.ts'
import { openFolderStore } from '../../../src/pipeline/store/folder-store.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { json } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { maskPng } from '../../support/test-images.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import { read } from '../manifest/manifest-files.ts'
import { runs } from '../../support/sample.ts'

const digestOf = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

const logo = pngBytes({ width: 3 })

const manifestText = `version: 1
defaults:
  image create: { model: some-image-model }
  image edit: { model: some-image-model }
  video generate: { model: some-video-model }
jobs:
  name: { respond: { model: m, input: "A name" }, out: name.txt }
  hero: { image create: { prompt: { file: prompts/hero.md }, n: 2, size: 1024x1024 }, out: "hero-{index}.png" }
  answer:
    generate:
      model: some/text-model
      system: Be short
      prompt: "What is this?\\n\\tSay it."
      attach: [notes/windows.txt, "pictures/Ansicht 1 (ü).png", "@hero"]
      temperature: 0.5
      generation_config: { topK: 3, 10: late, 2: early }
      schema: schemas/answer.json
    out: answer.json
  poem:
    each: [{ id: "1", word: sea }]
    respond: { input: { file: "@name" }, attach: [logo.png, notes/windows.txt], verbosity: low, schema: schemas/answer.json, metadata: { b: "\${word}", a: "2" } }
    out: poem-\${id}.json
  listed: { respond: { model: m, input: [{ role: user, content: Hello }] }, out: listed.txt }
  banner:
    image edit: { prompt: { file: "@name" }, image: ["pictures/Ansicht 1 (ü).png", "@hero", logo.png, pictures/last.png, other/picture.png], mask: masks/left.png, size: auto }
    out: banner.png
  teaser:
    video generate: { prompt: It opens, image: logo.png, last_frame: pictures/last.png, reference: [pictures/last.png=style, other/picture.png], duration_seconds: 4 }
    out: teaser.mp4
  longer: { video generate: { prompt: On, video: clips/first.mp4 }, out: longer.mp4 }
  night: { video remix: { model: m, prompt: Night, source: video_7 }, out: night.mp4 }
  day: { video remix: { model: m, prompt: Day, source: "@night" }, out: day.mp4 }
`

const projectFiles = {
  'logo.png': logo,
  'prompts/hero.md': '\ufeffA harbour\r\nat dawn\r\n',
  'notes/windows.txt': '\ufeffOne\r\nTwo\r\n',
  'pictures/Ansicht 1 (ü).png': pngBytes({ width: 8, height: 8 }),
  'pictures/last.png': pngBytes({ width: 6 }),
  // The same bytes under another name.
  'other/picture.png': pngBytes({ width: 6 }),
  'clips/first.mp4': mp4Bytes(),
  'schemas/answer.json': JSON.stringify({
    type: 'object',
    properties: { zebra: { type: 'string' }, ant: { type: 'string' }, 1: { type: 'string' } },
    required: ['zebra', 'ant', '1'],
    additionalProperties: false,
  }),
}

interface Bench {
  readonly manifest: Manifest
  readonly upstream: ReadonlyMap<string, UpstreamResult>
}

/** The project, and what its references stand for: blobs, and a text whose line breaks a checkout has changed. */
async function project(): Promise<Bench> {
  const mask = await maskPng(8)
  const manifest = await read(manifestText, { ...projectFiles, 'masks/left.png': mask })
  const blobs = temporaryFolder()
  const one = pngBytes({ width: 8 })
  const two = pngBytes({ width: 9 })
  writeFiles(blobs, { [digestOf(one)]: one, '2-hero.png': two, 'name.txt': 'A title\r\nin two lines\r\n' })
  const blob = (name: string, media_type: string) => ({
    path: join(blobs, name),
    sha256: digestOf(name),
    media_type,
  })
  const upstream = new Map<string, UpstreamResult>([
    ['@hero', { files: [blob(digestOf(one), 'image/png'), blob('2-hero.png', 'image/png')], jobId: null }],
    ['@name', { files: [blob('name.txt', 'text/plain')], jobId: null }],
    ['@night', { files: [], jobId: 'video_9' }],
  ])
  return { manifest, upstream }
}

function encode({ manifest, upstream }: Bench, id: string) {
  const instance = manifest.instances.get(id)!
  const inputDigest = createInputDigests(manifest.project.folder)
  return encodeTask({ instance, upstream, inputDigest, project: manifest.project })
}

/** What a server makes of JSON that keeps neither the order of names nor white space. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}

const throughServer = (message: unknown): unknown => sorted(JSON.parse(JSON.stringify(message)))

/** The request that an instance sends, and how it then fails. */
async function requestOf(instance: Instance, upstream: ReadonlyMap<string, UpstreamResult>, folder: string) {
  const server = await localServer([json({ error: { message: 'no' } }, { status: 400 })])
  const bench = taskBench(server.url)
  const shared = { ...bench.shared, project: projectOf(join(folder, 'modelgate.yaml'), false) }
  const work = join(temporaryFolder(), 'work')
  await expect(
    executeTask(
      shared,
      bench.taskOf(instance, {
        request: () => buildRequest(bench.context, instance, { folder, upstream }),
        folder: work,
      }),
    ),
  ).rejects.toMatchObject({ exit: 'rejected' })
  const [{ line, headers, body, complete }] = server.requests as [(typeof server.requests)[number]]
  expect(complete).toBe(true)
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1] ?? '\0'
  const { host: _, ...others } = headers
  const plain = (text: string) => text.replaceAll(boundary, 'BOUNDARY')
  return {
    line,
    headers: JSON.parse(plain(JSON.stringify(others))) as unknown,
    body: plain(body.toString('latin1')),
  }
}

const ids = ['name', 'hero', 'answer', 'poem[1]', 'listed', 'banner', 'teaser', 'longer', 'night', 'day']

test.each(ids)('a worker sends byte for byte what a local run sends: %s', async (id) => {
  const bench = await project()
  const instance = bench.manifest.instances.get(id)!
  const local = await requestOf(instance, bench.upstream, bench.manifest.project.folder)
  const { message, files } = await encode(bench, id)
  const share = temporaryFolder()
  const store = await openFolderStore({ ...testContext({ cwd: share }), clock: systemClock }, share)
  for (const { path, sha256 } of files) await store.put(path, sha256)
  const folder = temporaryFolder()
  const placed = await placeInputs(decodeTask(throughServer(message)), store, folder)
  expect(await requestOf(placed.instance, placed.upstream, folder)).toEqual(local)
  const { command, lane, model, count, output, onUnknown } = instance
  expect(placed.instance).toMatchObject({ id, command, lane, model, count, output, onUnknown })
})

test('the samples hold what they are there for', async () => {
  const bench = await project()
  const bodyOf = async (id: string) =>
    (await requestOf(bench.manifest.instances.get(id)!, bench.upstream, bench.manifest.project.folder)).body
  expect(await bodyOf('banner')).toMatch(
    /filename="Ansicht 1 \(\xc3\xbc\)\.png"[^]*filename="[0-9a-f]{64}"[^]*filename="2-hero\.png"[^]*filename="logo\.png"[^]*name="mask"/,
  )
  expect(await bodyOf('answer')).toMatch(/zebra.*ant/)
  expect(await bodyOf('answer')).toContain(Buffer.from('One\nTwo\n').toString('base64'))
  expect(await bodyOf('poem[1]')).toContain('A title\\nin two lines')
  expect(bench.manifest.instances.get('hero')!.count).toBe(2)
})

test('a message has no path of the machine, and each file once', async () => {
  const bench = await project()
  for (const id of ids) {
    const { message, files } = await encode(bench, id)
    const text = JSON.stringify(message)
    expect(text).not.toContain(bench.manifest.project.folder)
    for (const { path, sha256 } of files) {
      expect(text).not.toContain(path)
      expect(digestOf(readFileSync(path))).toBe(sha256)
    }
    expect(new Set(files.map(({ sha256 }) => sha256)).size).toBe(files.length)
  }
  const { message } = await encode(bench, 'teaser')
  expect(message['files']).toHaveLength(3)
})

test('a file that is not what the key was computed of is refused, and so is a name that is none elsewhere', async () => {
  const bench = await project()
  const { folder } = bench.manifest.project
  const inputDigest = createInputDigests(folder)
  const instance = bench.manifest.instances.get('longer')!
  await inputDigest('clips/first.mp4')
  writeFileSync(join(folder, 'clips/first.mp4'), mp4Bytes({}, Buffer.alloc(1000, 8)))
  const parts = { instance, upstream: bench.upstream, inputDigest, project: bench.manifest.project }
  await expect(encodeTask(parts)).rejects.toMatchObject({ code: 'input_changed', exitCode: 2 })
  for (const name of ['aux.png', 'a\\b.png', 'line\nbreak.png']) {
    writeFileSync(join(folder, name), pngBytes())
    const named: Instance = {
      ...instance,
      fields: { video: { kind: 'files', files: [{ source: { path: name }, role: null }] } },
    }
    await expect(encodeTask({ ...parts, instance: named })).rejects.toMatchObject({
      code: 'input_name',
      exitCode: 2,
    })
  }
})

test('inputs that the store has not, or has wrong, are named', async () => {
  const { message } = await encode(await project(), 'longer')
  const share = temporaryFolder()
  const store = await openFolderStore({ ...testContext({ cwd: share }), clock: systemClock }, share)
  const placing = placeInputs(decodeTask(message), store, temporaryFolder())
  await expect(placing).rejects.toMatchObject({
    code: 'store_input_missing',
    exitCode: 10,
    facts: { billed: 'no' },
  })
  await expect(placing).rejects.toThrow(/^"first\.mp4" is not in the store/)
  const sha256 = digestOf(mp4Bytes())
  mkdirSync(join(share, sha256.slice(0, 2)))
  writeFileSync(join(share, sha256.slice(0, 2), sha256), 'planted')
  await expect(placeInputs(decodeTask(message), store, temporaryFolder())).rejects.toMatchObject({
    code: 'store_input_missing',
  })
})

describe('what no run has written is refused', () => {
  interface Wire {
    version: unknown
    [name: string]: unknown
    fields: { name: string; value: Record<string, unknown> }[]
    files: { sha256: string; name: string }[]
    upstream: { reference: string; files: { file: number; media_type: string }[]; job_id: string | null }[]
  }
  const fieldOf = (wire: Wire, name: string) => wire.fields.find((field) => field.name === name)!
  const changes: Readonly<Record<string, (wire: Wire) => unknown>> = {
    'another version': (wire) => (wire.version = 2),
    'no version': (wire) => delete wire.version,
    'an unknown command': (wire) => (wire['command'] = 'run'),
    'a name of every object': (wire) => (wire['command'] = 'constructor'),
    'another command': (wire) => (wire['command'] = 'video remix'),
    'more than there is': (wire) => (wire['lane'] = 'text'),
    'an unknown field': (wire) => wire.fields.push({ name: 'shell', value: { text: 'x' } }),
    'a field that is not for manifests': (wire) =>
      wire.fields.push({ name: 'response_format', value: { json: '"url"' } }),
    'a field twice': (wire) => wire.fields.push(wire.fields[0]!),
    'a prototype': (wire) => wire.fields.push({ name: '__proto__', value: { json: '{}' } }),
    'a value that is no JSON': (wire) => (fieldOf(wire, 'size').value = { json: '{' }),
    'a value that the contract refuses': (wire) => (fieldOf(wire, 'n').value = { json: '99' }),
    'a value too deep': (wire) =>
      (fieldOf(wire, 'size').value = { json: '['.repeat(100_000) + ']'.repeat(100_000) }),
    'two models': (wire) => (wire['model'] = 'another'),
    'a text for files': (wire) => (fieldOf(wire, 'image').value = { text: '/etc/passwd' }),
    'files for a text': (wire) => (fieldOf(wire, 'prompt').value = { files: [{ file: 0, role: null }] }),
    'a role of nothing': (wire) => (fieldOf(wire, 'mask').value = { files: [{ file: 0, role: 'style' }] }),
    'two masks': (wire) =>
      (fieldOf(wire, 'mask').value = {
        files: [
          { file: 0, role: null },
          { file: 1, role: null },
        ],
      }),
    'a file by its path': (wire) =>
      (fieldOf(wire, 'mask').value = { files: [{ path: '/etc/passwd', role: null }] }),
    'a file that is not there': (wire) =>
      (fieldOf(wire, 'mask').value = { files: [{ file: 900, role: null }] }),
    'a result that is not there': (wire) => (wire.upstream[0]!.files[0]!.file = 900),
    'a number that is none': (wire) => (wire.upstream[0]!.files[0]!.file = -1),
    'a reference without a result': (wire) => wire.upstream.pop(),
    'a result without a reference': (wire) =>
      wire.upstream.push({ reference: '@x', files: [], job_id: null }),
    'a result twice': (wire) => wire.upstream.push(wire.upstream[0]!),
    'a digest that is none': (wire) => (wire.files[0]!.sha256 = '../../etc/passwd'),
    ...Object.fromEntries(
      [
        '../x.png',
        '..',
        '.',
        '',
        'a/b',
        'a\\b',
        'C:\\x',
        '/etc/passwd',
        'a\0b',
        'a\nb',
        '\u009b2J',
        'NUL',
        'com1.png',
        'x'.repeat(256),
        '\ud800',
      ].map((name) => [
        `a file called ${JSON.stringify(name)}`.slice(0, 60),
        (wire: Wire) => (wire.files[0]!.name = name),
      ]),
    ),
  }

  function failureOf(value: unknown): unknown {
    try {
      return decodeTask(value)
    } catch (error) {
      return error
    }
  }

  test.each(Object.entries(changes))('%s', async (name, change) => {
    const bench = await project()
    const id = name.includes('contract') ? 'hero' : 'banner'
    const wire = JSON.parse(JSON.stringify((await encode(bench, id)).message)) as Wire
    decodeTask(wire)
    change(wire)
    const error = failureOf(wire)
    expect(error).toBeInstanceOf(UsageError)
    expect(error).toMatchObject({ code: 'queue_message', exitCode: 2 })
    expect((error as Error).message.length).toBeLessThan(500)
  })

  test.each([null, undefined, 7, 'x', [], {}, { version: 1 }])('%j', (value) => {
    expect(failureOf(value)).toMatchObject({ code: 'queue_message', exitCode: 2 })
  })
})

/** A value somewhere in a message is another one, or gone. */
const mutation = fc.record({
  at: fc.nat(),
  by: fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constant(undefined)),
  deep: fc.integer({ min: 1, max: 6 }),
})

function mutated(
  value: unknown,
  { at, by, deep }: { readonly at: number; readonly by: unknown; readonly deep: number },
): unknown {
  if (typeof value !== 'object' || value === null || deep === 0) return by
  const names = Object.keys(value)
  if (names.length === 0) return by
  const chosen = names[at % names.length]!
  const inner = mutated((value as Record<string, unknown>)[chosen], {
    at: Math.floor(at / names.length),
    by,
    deep: deep - 1,
  })
  if (Array.isArray(value))
    return value.map((entry: unknown, index) => (String(index) === chosen ? inner : entry))
  return { ...value, [chosen]: inner }
}

test('whatever the server holds, reading it gives a request with plain files or is refused', async () => {
  const bench = await project()
  const messages = await Promise.all(ids.map(async (id) => (await encode(bench, id)).message))
  let taken = 0
  /** The paths and names that would be used, one for each that is not what it seems. */
  const badPlaces = ({ instance, files }: TaskMessage): string[] => {
    const given = Object.values(instance.fields).flatMap((field) =>
      field.kind === 'files' ? field.files : [],
    )
    const paths = given.flatMap(({ source }) => ('path' in source ? [source.path] : []))
    return [
      ...paths.filter((path) => path.split('/').length !== 3 || relative('/a', join('/a', path)) !== path),
      ...files.flatMap(({ name, sha256 }) =>
        basename(name) === name && /^[0-9a-f]{64}$/.test(sha256) ? [] : [name],
      ),
    ]
  }
  const check = (value: unknown): boolean => {
    try {
      const message = decodeTask(value)
      taken++
      return badPlaces(message).length === 0
    } catch (error) {
      return error instanceof UsageError && error.code === 'queue_message'
    }
  }
  fc.assert(fc.property(fc.anything(), check), runs(300))
  fc.assert(
    fc.property(
      fc.constantFrom(...messages),
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      (message, changes) => check(changes.reduce<unknown>(mutated, message)),
    ),
    runs(1500),
  )
  // Else nothing was tried.
  expect(taken).toBeGreaterThan(0)
})

test('inputs are placed below their folder only', async () => {
  const { message, files } = await encode(await project(), 'banner')
  const share = temporaryFolder()
  const store = await openFolderStore({ ...testContext({ cwd: share }), clock: systemClock }, share)
  for (const { path, sha256 } of files) await store.put(path, sha256)
  const folder = temporaryFolder()
  await placeInputs(decodeTask(message), store, folder)
  expect(readdirSync(folder)).toEqual(['inputs'])
  expect(readdirSync(join(folder, 'inputs')).sort()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
})
