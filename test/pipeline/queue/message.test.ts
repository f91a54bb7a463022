import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { executeTask } from '../../../src/pipeline/execute/execute-task.ts'
import type { Task } from '../../../src/pipeline/execute/task.ts'
import { buildRequest, type UpstreamResult } from '../../../src/pipeline/manifest/request-body.ts'
import { decodeTask, encodeTask, placeRequest, taskOf } from '../../../src/pipeline/queue/message.ts'
import { openFolderStore } from '../../../src/pipeline/store/shared-store.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { localServer } from '../../support/local-server.ts'
import { taskBench } from '../../support/pipeline-task.ts'
import { json } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { maskPng } from '../../support/test-images.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'
import { read } from '../manifest/manifest-files.ts'
import { digestOf } from '../store/store-samples.ts'

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
  'clips/first.mp4': mp4Bytes({}, Buffer.alloc(1000, 7)),
  'schemas/answer.json': JSON.stringify({
    type: 'object',
    properties: { zebra: { type: 'string' }, ant: { type: 'string' }, 1: { type: 'string' } },
    required: ['zebra', 'ant', '1'],
    additionalProperties: false,
  }),
}

type Bench = Awaited<ReturnType<typeof project>>

/** The project, and what its references stand for: blobs, and a text whose line breaks a checkout has changed. */
async function project() {
  const mask = await maskPng(8)
  const manifest = await read(manifestText, { ...projectFiles, 'masks/left.png': mask })
  const blobs = temporaryFolder()
  const one = pngBytes({ width: 8 })
  const two = pngBytes({ width: 9 })
  writeFiles(blobs, { [digestOf(one)]: one, '2-hero.png': two, 'name.txt': 'A title\r\nin two lines\r\n' })
  const blob = (name: string) => join(blobs, name)
  const upstream = new Map<string, UpstreamResult>([
    ['@hero', { files: [blob(digestOf(one)), blob('2-hero.png')], jobId: null }],
    ['@name', { files: [blob('name.txt')], jobId: null }],
    ['@night', { files: [], jobId: 'video_9' }],
  ])
  return { manifest, upstream }
}

/** A store that all machines share. */
async function sharedStore() {
  const folder = temporaryFolder()
  const context = { ...testContext({ cwd: folder }), clock: systemClock }
  return { folder, store: await openFolderStore(context, folder) }
}

function localTask({ manifest, upstream }: Bench, id: string): Task {
  const instance = manifest.instances.get(id)!
  const { folder } = manifest.project
  const bench = taskBench('http://127.0.0.1:1')
  return bench.taskOf(instance, {
    key: 'a'.repeat(64),
    folder: join(temporaryFolder(), 'work'),
    request: () => buildRequest(bench.context, instance, { folder, upstream }),
  })
}

/** The message of a task, and what has been put into the store. */
async function encode(bench: Bench, id: string, share?: Awaited<ReturnType<typeof sharedStore>>) {
  const { store } = share ?? (await sharedStore())
  const files: string[] = []
  const message = await encodeTask(localTask(bench, id), {
    run: 'a-run',
    folder: bench.manifest.project.folder,
    store: {
      async put(path, sha256) {
        files.push(sha256)
        return await store.put(path, sha256)
      },
    },
  })
  return { message, files }
}

/** The request that a task sends, which the gateway refuses. */
async function sentBy(task: Pick<Task, 'instance' | 'key' | 'creation' | 'request'>, folder: string) {
  const server = await localServer([json({ error: { message: 'no' } }, { status: 400 })])
  const bench = taskBench(server.url)
  const shared = { ...bench.shared, project: { ...bench.project, folder } }
  const usual = bench.taskOf(task.instance as never, {})
  const own = { ...usual, ...task, folder: join(temporaryFolder(), 'work') }
  await expect(executeTask(shared, own)).rejects.toMatchObject({ exit: 'rejected' })
  const [{ line, headers, body, complete }] = server.requests as [(typeof server.requests)[number]]
  expect(complete).toBe(true)
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1] ?? '\0'
  const { host: _, ...others } = headers
  const plain = (text: string) => text.replaceAll(boundary, 'BOUNDARY')
  return { line, headers: plain(JSON.stringify(others)), body: plain(body.toString('latin1')) }
}

const ids = ['name', 'hero', 'answer', 'poem[1]', 'listed', 'banner', 'teaser', 'longer', 'night', 'day']

test('a worker sends byte for byte what a local run sends; a message has no media and no path of the machine', async () => {
  const bench = await project()
  const share = await sharedStore()
  const put: Record<string, readonly string[]> = {}
  for (const id of ids) {
    const local = localTask(bench, id)
    const { message, files } = await encode(bench, id, share)
    const text = JSON.stringify(message)
    expect(text).not.toContain(bench.manifest.project.folder)
    expect(text).not.toMatch(/[\w+/]{300}/)
    put[id] = files
    const read = decodeTask(text)
    const folder = temporaryFolder()
    const placed = await placeRequest(read, share.store, folder)
    const task = { ...taskOf(read, placed.body), request: async () => placed }
    const sent = await sentBy(task, folder)
    expect([id, sent]).toEqual([id, await sentBy(local, bench.manifest.project.folder)])
    const { command, lane, model, count } = local.instance
    expect(task.instance).toMatchObject({ id, command, lane, model, count })
  }
  expect(put['longer']).toEqual([digestOf(projectFiles['clips/first.mp4'])])
  expect(put['banner']).toHaveLength(7)
})

test('a picture whose name is none elsewhere is refused', async () => {
  const bench = await project()
  for (const name of ['aux.png', 'a\\b.png', 'line\nbreak.png']) {
    const path = join(bench.manifest.project.folder, name)
    writeFileSync(path, pngBytes())
    const request = async () => ({ body: {}, images: [name], mask: null, source: null })
    const { folder } = bench.manifest.project
    const store = { put: () => Promise.resolve(true) }
    const encoding = encodeTask({ ...localTask(bench, 'banner'), request }, { run: 'r', folder, store })
    await expect(encoding).rejects.toMatchObject({ code: 'bad_file_name', exitCode: 2 })
  }
})

test('inputs that the store has not, or has wrong, are named', async () => {
  const { message } = await encode(await project(), 'banner')
  const { folder, store } = await sharedStore()
  const placing = () => placeRequest(decodeTask(JSON.stringify(message)), store, temporaryFolder())
  const missing = { code: 'store_missing', exitCode: 2, facts: { billed: 'no' } }
  await expect(placing()).rejects.toMatchObject(missing)
  await expect(placing()).rejects.toThrow(/^"Ansicht 1 \(ü\)\.png" is not in the store/)
  const { sha256 } = message.images[0]!
  mkdirSync(join(folder, sha256.slice(0, 2)))
  writeFileSync(join(folder, sha256.slice(0, 2), sha256), 'planted')
  await expect(placing()).rejects.toMatchObject(missing)
})

type Wire = Record<string, unknown> & {
  body: Record<string, unknown>
  images: { sha256: string; name: string }[]
}
const badNames = ['../x.png', '..', '', 'a/b', 'a\\b', 'C:\\x', 'a\0b', '\u009b2J', 'NUL', '\ud800']
const changes: readonly ((wire: Wire) => unknown)[] = [
  (wire) => delete wire['version'],
  (wire) => (wire['command'] = 'run'),
  // A name of every object.
  (wire) => (wire['command'] = 'constructor'),
  // More than there is.
  (wire) => (wire['lane'] = 'text'),
  (wire) => (wire['key'] = '../../x'),
  (wire) => (wire['count'] = 0),
  (wire) => (wire['body'] = [] as never),
  // A value that the contract refuses, and one of a field that the command does not take.
  (wire) => (wire.body['n'] = 99),
  (wire) => (wire.body['size'] = 7),
  (wire) => (wire.body['size'] = JSON.parse(`${'['.repeat(9_000)}${']'.repeat(9_000)}`)),
  // Media by no digest.
  (wire) => (wire.body['url'] = { sha256: '../../etc/passwd', bytes: 1 }),
  (wire) => (wire['mask'] = '/etc/passwd'),
  (wire) => (wire.images[0]!.sha256 = '../../etc/passwd'),
  ...badNames.map((name) => (wire: Wire) => (wire.images[0]!.name = name)),
]

test('what no run has written is refused', async () => {
  const share = await sharedStore()
  const { message } = await encode(await project(), 'banner', share)
  const read = async (text: string) => await placeRequest(decodeTask(text), share.store, temporaryFolder())
  await read(JSON.stringify(message))
  const damaged = changes.map((change) => {
    const wire = structuredClone(message) as unknown as Wire
    change(wire)
    return JSON.stringify(wire)
  })
  for (const text of [...damaged, '', 'null', '7', '"x"', '[]', '{}', '{', '{"version":3}']) {
    const error = await read(text).catch((thrown: unknown) => thrown)
    expect(error, `${text.slice(0, 300)}`).toMatchObject({ code: 'queue_damaged', exitCode: 2 })
    expect((error as Error).message.length).toBeLessThan(500)
  }
  // Another version is for another worker.
  expect(() => decodeTask('{"version":4}')).toThrow(expect.objectContaining({ code: 'other_version' }))
})
