import { appendFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { end, head, json, readAll, reset, text, write, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { file, images, large } from './images/replies.ts'
import { clip, finished, started } from './videos/video-replies.ts'
import { workspaceAt } from './workspace.ts'

const whole = (bytes: Uint8Array, type: string) => file(bytes, { 'content-type': type })
const part = (bytes: Uint8Array, status: 200 | 206, last: ServerReply): ServerReply => {
  const length = String(status === 206 ? 40 : bytes.length)
  const range = status === 206 && { 'content-range': `bytes 0-39/${bytes.length}` }
  return [
    readAll,
    write(head(status, { 'content-length': length, ...range })),
    write(bytes.subarray(0, 40)),
    ...last,
  ]
}

/** One bit of the last chunk of a PNG, or of the size of an MP4's last box. */
function spoilt(bytes: Uint8Array): Buffer {
  const copy = Buffer.from(bytes)
  const at = copy.indexOf('mdat')
  if (at === -1) copy[copy.length - 1]! ^= 1
  else copy[at - 4]! ^= 0x40
  return copy
}

/** What an address gives before it gives the result. */
const faults: Readonly<Record<string, (bytes: Uint8Array, type: string) => ServerReply>> = {
  '404': () => text('', { status: 404 }),
  '403': () => text('', { status: 403 }),
  '500': () => text('', { status: 500 }),
  '503': () => text('', { status: 503 }),
  'an HTML page': () => text('<!doctype html><title>Sign in</title>'),
  'a damaged file': (bytes, type) => whole(bytes.subarray(0, -20), type),
  'another kind of file': () => text('%PDF-1.7 something else entirely, and not a picture'),
  'a damaged checksum': (bytes, type) => whole(spoilt(bytes), type),
  zeros: (_, type) => whole(Buffer.alloc(5000), type),
  'a redirect into the network': () => text('', { status: 302, headers: { location: 'http://10.0.0.1/x' } }),
  'a reset': (bytes) => part(bytes, 200, [reset]),
  'a cut': (bytes) => part(bytes, 200, [end]),
  'a part': (bytes) => part(bytes, 206, [end]),
}

const kinds = {
  image: {
    bytes: large,
    type: 'image/png',
    job: 'image create: { model: any, prompt: A boat }',
    command: 'image create -m any -o made/boat A-boat',
  },
  video: {
    bytes: clip,
    type: 'video/mp4',
    job: 'video generate: { model: veo, prompt: A boat }',
    command: 'video generate -m veo -o made/boat A-boat',
  },
} as const
const { command } = kinds.image
const busy = text('', { status: 503 })

/** A machine and its gateway, with a job for `run`; results are at addresses that give something else until it is mended. */
async function brokenGateway(kind: keyof typeof kinds, fault: ServerReply, out = 'boat.png') {
  const { bytes, type, job } = kinds[kind]
  let created = 0
  let isMended = false
  const server = await localServer(({ line }) => {
    const address = `${server.url}/result`
    if (line.startsWith('POST')) {
      created++
      return kind === 'image' ? json({ created: 1, data: [{ url: address }] }) : started
    }
    if (line.includes('/operations/')) return finished([address])
    return isMended ? whole(bytes, type) : fault
  })
  const { run, ...workspace } = workspaceAt(server)
  writeFiles(workspace.cwd, { 'modelgate.yaml': `version: 1\njobs:\n  boat:\n    ${job}\n    out: ${out}\n` })
  return {
    ...workspace,
    run: (words: string, env = {}, more = {}) => run(words.split(' '), { env, ...more }),
    created: () => created,
    /** How a command has ended, and how often something has been created by then. */
    endOf: async (words: string) => [(await run(words.split(' '))).code, created],
    asked: () => server.requests,
    mend: () => void (isMended = true),
  }
}

test.each(
  (['image', 'video'] as const).flatMap((kind) =>
    Object.entries(faults).map(([name, reply]) => [kind, name, reply] as const),
  ),
)('a result (%s) whose address gives first %s is paid for once', async (kind, _, reply) => {
  const { bytes, type, command } = kinds[kind]
  const ofRun = await brokenGateway(kind, reply(bytes, type), `boat.${type.slice(6)}`)
  expect(await ofRun.endOf('run')).toEqual([11, 1])
  expect(await ofRun.endOf('run')).toEqual([11, 1])
  ofRun.mend()
  expect(await ofRun.endOf('run')).toEqual([0, 1])

  const { run, endOf, created, mend, read } = await brokenGateway(kind, reply(bytes, type))
  const { code, err } = await run(command)
  expect([code, created()]).toEqual([11, 1])
  expect(err).not.toMatch(/running it again|run it again/i)
  // The line that goes on, as it is printed.
  const [, line = ''] = /modelgate (wait .+)$/m.exec(err) ?? []
  expect(await endOf(line)).toEqual([11, 1])
  mend()
  expect(await endOf(line)).toEqual([0, 1])
  expect(read('made/boat').equals(bytes)).toBe(true)
})

test('an image that is gone is told as paid for and gone, also by wait', async () => {
  const { run, created } = await brokenGateway('image', text('', { status: 410 }))
  for (const words of [command, 'wait --last']) {
    const { code, err } = await run(`${words} --json`)
    expect([code, created()]).toEqual([4, 1])
    expect(JSON.parse(err.split('\n').at(-2)!)).toMatchObject({
      error: { code: 'result_expired', billed: 'yes' },
    })
  }
  expect((await run('wait --all')).code).toBe(0)
})

test('what is not here yet is listed, fetched under another name, and then forgotten', async () => {
  const { run, mend, read } = await brokenGateway('image', busy)
  await run(command)
  const { jobs } = JSON.parse((await run('jobs --json')).out) as { jobs: { id: string }[] }
  expect(jobs).toMatchObject([{ kind: 'image', prompt: 'A-boat', files: [], state: 'completed' }])
  mend()
  const { id } = jobs[0]!
  expect(await run(`wait ${id.slice(0, 10)} -o other.png`)).toMatchObject({ code: 0, out: 'other.png\n' })
  expect(read('other.png').equals(large)).toBe(true)
  expect(JSON.parse((await run('jobs --json')).out)).toMatchObject({ jobs: [] })
  const again = await run(`wait ${id}`)
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('no image image_')])
})

test('an image is saved in the folder of its command, also from another one', async () => {
  const { run, mend, cwd, files } = await brokenGateway('image', busy)
  await run('image create -m any A-boat')
  const { jobs } = JSON.parse((await run('jobs --json')).out) as { jobs: { id: string }[] }
  mend()
  const { code, out } = await run(`wait ${jobs[0]!.id}`, {}, { cwd: temporaryFolder() })
  expect([code, out]).toEqual([0, expect.stringMatching(`^${cwd}/a-boat-[0-9a-f]+\\.png\n$`)])
  expect(files()).toContain(basename(out.trim()))
})

test.each([
  ['wait --last -o - --json', '-o - and --json would both write to standard output'],
  ['wait --last --stream', '--stream applies to a background response'],
  ['wait --last --dry-run', 'an image is only downloaded from its URL'],
  ['wait --last --raw', 'an image is only downloaded from its URL'],
])('%s is refused for an image, and asks nobody', async (words, says) => {
  const { run, asked } = await brokenGateway('image', busy)
  await run(command)
  const before = asked().length
  const { code, out, err } = await run(words)
  expect([code, out, asked().length, err]).toEqual([2, '', before, expect.stringContaining(says)])
})

test('an image that is fetched later is named after its prompt, as at once, or is on standard output alone', async () => {
  const { run, mend } = await brokenGateway('image', busy)
  for (const _ of [1, 2]) await run('image create -m any -o {slug}.{ext} A-boat')
  mend()
  const { code, bytes } = await run('wait --last -o -')
  expect([code, bytes.equals(large)]).toEqual([0, true])
  expect(await run('wait --last')).toMatchObject({ code: 0, out: 'a-boat.png\n' })
})

test('everything that is not here yet comes with one call', async () => {
  const { cwd, run, mend, endOf } = await brokenGateway('image', busy)
  await run('image create -m any -o a.png A-boat')
  await run('image create -m any -o b.png A-boat')
  expect(await endOf('wait --all')).toEqual([11, 2])
  mend()
  expect(await endOf('wait --all -o c.png')).toEqual([2, 2])
  expect(await endOf('wait --all')).toEqual([0, 2])
  expect(readdirSync(cwd).toSorted()).toEqual(['a.png', 'b.png', 'modelgate.yaml'])
  const none = { code: 0, err: 'There is nothing left to wait for.\n' }
  expect(await run('wait --all')).toMatchObject(none)
})

test('a key is sent only where it started something', async () => {
  const { run, asked } = await brokenGateway('video', busy)
  await run('video generate -m veo --no-wait A-boat')
  const other = { MODELGATE_BASE_URL: '', MODELGATE_API_KEY: 'another-key-9876' }
  for (const words of ['wait --last', 'video status --last', 'wait --all', 'video remix -m m --last x']) {
    const { code, err } = await run(words, other)
    expect([words, code]).toEqual([words, 2])
    expect(words + err).toMatch(/started at http:.* with another key.*--base-url/s)
  }
  const listed = await run('jobs --refresh', other)
  expect([listed.code, listed.err]).toEqual([0, expect.stringContaining('with another key')])
  expect(asked()).toHaveLength(1)
  expect((await run('video status --last', { MODELGATE_BASE_URL: '' })).code).toBe(0)
  expect(asked()).toHaveLength(2)
})

test.each([
  ['says that it is gone', text('', { status: 410 }), 0, 12],
  ['gives nothing until it expires', text('', { status: 404 }), 61 * 60_000, 11],
])('what is made and %s is lost, and never made again by itself', async (_, reply, laterMs, exit) => {
  const { run, endOf, clock } = await brokenGateway('image', reply)
  expect(await endOf('run')).toEqual([exit, 1])
  await clock.advance(laterMs)
  for (const _ of [1, 2]) expect(await endOf('run')).toEqual([13, 1])
  expect((await run('run --plan')).out.replaceAll(/\s+/g, ' ')).toContain('It was made and billed')
  expect(await endOf('run --regenerate boat')).toEqual([exit, 2])
})

/** A machine with this job in its manifest. */
function withJob(server: { readonly url: string }, job: string) {
  const workspace = workspaceAt(server)
  writeFiles(workspace.cwd, { 'modelgate.yaml': `version: 1\njobs:\n  boat:\n    ${job}\n` })
  return { ...workspace, run: async () => (await workspace.run(['run'])).code }
}

test('a damaged image that came in the reply itself is paid for once', async () => {
  const server = await localServer([images(large.subarray(0, -20))])
  const { run } = withJob(server, `${kinds.image.job}\n    out: boat.png`)
  expect([await run(), await run()]).toEqual([12, 13])
})

const content = [{ type: 'output_text', text: 'Two rivers', annotations: [] }]
const output = [{ type: 'message', id: 'm', role: 'assistant', content }]
const answer = json({ id: 'resp_1', object: 'response', status: 'completed', model: 'm', output })

test.each([
  [`${kinds.image.job}\n    out: boat`, images(large), large],
  ['respond: { model: m, input: Name a river }\n    out: boat', answer, Buffer.from('Two rivers')],
])('what run rescued is taken by the next one: %s', async (job, reply, bytes) => {
  const server = await localServer(() => {
    // The place of the result is lost while it is made.
    const [key] = readdirSync(work)
    rmSync(join(work, key!), { recursive: true })
    writeFileSync(join(work, key!), '')
    return reply
  })
  const { run, cwd, state, read } = withJob(server, job)
  const work = join(cwd, '.modelgate/results')
  expect(await run()).toBe(10)
  rmSync(work, { recursive: true })
  expect([await run(), server.requests.length]).toEqual([0, 1])
  expect(read('boat').equals(bytes)).toBe(true)
  expect(readdirSync(join(state, 'rescued/run'))).toEqual([])
})

test.each<[string, (art: string) => void]>([
  ['a folder that leads out of the project', (art) => symlinkSync(temporaryFolder(), art)],
  ['a folder that leads nowhere', (art) => symlinkSync('gone', art)],
  ['a file in place of a folder', (art) => writeFileSync(art, '')],
])('%s is found before anything is paid for', async (_, prepare) => {
  const { cwd, run, created } = await brokenGateway('image', text(''), 'art/boat.png')
  prepare(join(cwd, 'art'))
  const { code, err } = await run('run')
  expect([code, created(), err]).toEqual([10, 0, expect.stringContaining('"art/boat.png" cannot be')])
})

test('a damaged record counts as one creation of a limit, and is told', async () => {
  const { run, created, state } = await brokenGateway('image', whole(large, 'image/png'))
  const limit = { MODELGATE_MAX_CREATES: '2' }
  expect((await run(command, limit)).code).toBe(0)
  appendFileSync(join(state, 'calls/2026-01.jsonl'), '\0\0\0\n')
  const { code, err } = await run(`${command} --force`, limit)
  expect([code, created()]).toEqual([15, 1])
  expect(err).toMatch(/A record is damaged .*: it counts as a creation\./)
})
