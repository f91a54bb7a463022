import { appendFileSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closedPort, localServer } from '../support/local-server.ts'
import { end, head, json, readAll, reset, text, write, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { images, large } from './images/replies.ts'
import { startProgram } from './start-program.ts'
import { clip, finished, started } from './videos/video-replies.ts'

const whole = (bytes: Uint8Array, type: string): ServerReply => [
  readAll,
  write(head(200, { 'content-type': type, 'content-length': String(bytes.length) })),
  write(bytes),
  end,
]
const part = (bytes: Uint8Array, status: 200 | 206, last: ServerReply): ServerReply => [
  readAll,
  write(
    head(status, {
      'content-length': String(status === 206 ? 40 : bytes.length),
      ...(status === 206 && { 'content-range': `bytes 0-39/${bytes.length}` }),
    }),
  ),
  write(bytes.subarray(0, 40)),
  ...last,
]

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
    manifest: 'image create: { model: any, prompt: A boat }\n    out: boat.png',
    command: 'image create -m any -o made/boat.png A-boat',
    file: 'made/boat.png',
  },
  video: {
    bytes: clip,
    type: 'video/mp4',
    manifest: 'video generate: { model: veo, prompt: A boat }\n    out: boat.mp4',
    command: 'video generate -m veo -o made/boat.mp4 A-boat',
    file: 'made/boat.mp4',
  },
} as const

/** A gateway whose results are at addresses that give something else until it is mended. */
async function brokenGateway(kind: keyof typeof kinds, fault: ServerReply | 'closed') {
  const { bytes, type } = kinds[kind]
  let created = 0
  let isMended = false
  const closed = fault === 'closed' ? `http://127.0.0.1:${await closedPort()}/a` : undefined
  const server = await localServer(({ line }) => {
    const address = closed !== undefined && !isMended ? closed : `${server.url}/result`
    if (line.startsWith('POST')) {
      created++
      return kind === 'image' ? json({ created: 1, data: [{ url: address }] }) : started
    }
    if (line.includes('/operations/')) return finished([address])
    return isMended || fault === 'closed' ? whole(bytes, type) : fault
  })
  const cwd = temporaryFolder()
  const env = {
    MODELGATE_BASE_URL: server.url,
    MODELGATE_API_KEY: 'a-key-0123456789',
    MODELGATE_STATE_DIR: temporaryFolder(),
  }
  const run = async (words: string, clock?: FakeClock, own: Readonly<Record<string, string>> = {}) => {
    const program = startProgram(words.split(' '), { env: { ...env, ...own }, cwd, ...(clock && { clock }) })
    const code = await program.passWaits()
    return {
      code,
      out: program.context.stdout.text,
      bytes: program.context.stdout.bytes,
      err: program.context.stderr.text,
    }
  }
  return {
    cwd,
    run,
    state: env.MODELGATE_STATE_DIR,
    created: () => created,
    asked: () => server.requests,
    mend: () => void (isMended = true),
  }
}

const rows = (Object.keys(kinds) as (keyof typeof kinds)[]).flatMap((kind) =>
  Object.entries(faults).map(([name, reply]) => [kind, name, reply] as const),
)

test.each(rows)('run pays once for a result (%s) whose address gives first %s', async (kind, _, reply) => {
  const { bytes, type, manifest } = kinds[kind]
  const { cwd, run, created, mend } = await brokenGateway(kind, reply(bytes, type))
  writeFileSync(join(cwd, 'modelgate.yaml'), `version: 1\njobs:\n  boat:\n    ${manifest}\n`)
  const first = await run('run')
  expect([first.code, created()]).toEqual([11, 1])
  expect([(await run('run')).code, created()]).toEqual([11, 1])
  mend()
  const last = await run('run')
  expect([last.code, created()]).toEqual([0, 1])
})

test.each(rows)(
  'a command pays once for a result (%s) whose address gives first %s',
  async (kind, _, reply) => {
    const { bytes, type, command, file } = kinds[kind]
    const { cwd, run, created, mend } = await brokenGateway(kind, reply(bytes, type))
    const first = await run(command)
    expect([first.code, created()]).toEqual([11, 1])
    expect(first.err).not.toMatch(/running it again|run it again/i)
    // The line that goes on, as it is printed.
    const [, line] = /modelgate (wait .+)$/m.exec(first.err) ?? []
    expect([(await run(line!)).code, created()]).toEqual([11, 1])
    mend()
    expect([(await run(line!)).code, created()]).toEqual([0, 1])
    expect(readFileSync(join(cwd, file)).equals(bytes)).toBe(true)
  },
)

test('an image that is gone is told as paid for and gone, also by wait', async () => {
  const { run, created } = await brokenGateway('image', text('', { status: 410 }))
  for (const words of [kinds.image.command, 'wait --last']) {
    const { code, err } = await run(`${words} --json`)
    expect([code, created()]).toEqual([4, 1])
    expect(JSON.parse(err.split('\n').at(-2)!)).toMatchObject({
      error: { code: 'result_expired', billed: 'yes' },
    })
  }
  expect((await run('wait --all')).code).toBe(0)
})

test('what is not here yet is listed, fetched under another name, and then forgotten', async () => {
  const { cwd, run, mend } = await brokenGateway('image', text('', { status: 503 }))
  await run(kinds.image.command)
  const listed = JSON.parse((await run('jobs --json')).out) as { jobs: { id: string; kind: string }[] }
  expect(listed.jobs).toMatchObject([{ kind: 'image', prompt: 'A-boat', files: [], state: 'completed' }])
  mend()
  const [job] = listed.jobs
  expect(await run(`wait ${job!.id.slice(0, 10)} -o other.png`)).toMatchObject({
    code: 0,
    out: 'other.png\n',
  })
  expect(readFileSync(join(cwd, 'other.png')).equals(large)).toBe(true)
  expect(JSON.parse((await run('jobs --json')).out)).toMatchObject({ jobs: [] })
  const again = await run(`wait ${job!.id}`)
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('no image image_')])
})

test.each([
  ['wait --last -o - --json', /-o - and --json would both write to standard output/],
  ['wait --last --stream', /--stream applies to a background response/],
  ['wait --last --dry-run', /an image is only downloaded from its URL/],
  ['wait --last --raw', /an image is only downloaded from its URL/],
])('%s is refused for an image, and asks nobody', async (words, says) => {
  const { run, asked } = await brokenGateway('image', text('', { status: 503 }))
  await run(kinds.image.command)
  const before = asked().length
  const { code, out, err } = await run(words)
  expect([code, out, asked().length]).toEqual([2, '', before])
  expect(err).toMatch(says)
})

test('an image that is fetched later is named after its prompt, as at once', async () => {
  const { run, mend } = await brokenGateway('image', text('', { status: 503 }))
  await run('image create -m any -o {slug}.{ext} A-boat')
  mend()
  const { code, out } = await run('wait --last')
  expect([code, out]).toEqual([0, 'a-boat.png\n'])
})

test('an image on standard output is the image and nothing else', async () => {
  const { run, mend } = await brokenGateway('image', text('', { status: 503 }))
  await run(kinds.image.command)
  mend()
  const { code, bytes } = await run('wait --last -o -')
  expect([code, bytes.equals(large)]).toEqual([0, true])
})

test('everything that is not here yet comes with one call', async () => {
  const { cwd, run, mend, created } = await brokenGateway('image', text('', { status: 503 }))
  const later = fakeClock({ start: Date.UTC(2026, 0, 1) + 1000 })
  await run('image create -m any -o a.png A-boat')
  await run('image create -m any -o b.png A-boat', later)
  expect((await run('wait --all')).code).toBe(11)
  mend()
  expect((await run('wait --all -o c.png')).code).toBe(2)
  expect((await run('wait --all')).code).toBe(0)
  expect(readdirSync(cwd).toSorted()).toEqual(['a.png', 'b.png'])
  const none = await run('wait --all')
  expect([none.code, none.err]).toEqual([0, 'There is nothing left to wait for.\n'])
  expect(created()).toBe(2)
})

test('a key is sent only where it started something', async () => {
  const { run, asked } = await brokenGateway('video', text('', { status: 503 }))
  await run('video generate -m veo --no-wait A-boat')
  const before = asked().length
  const other = { MODELGATE_BASE_URL: '', MODELGATE_API_KEY: 'another-key-9876' }
  for (const words of [
    'wait --last',
    'wait --last',
    'video status --last',
    'wait --all',
    'video remix -m m --last x',
  ]) {
    const { code, err } = await run(words, undefined, other)
    expect([words, code]).toEqual([words, 2])
    expect(words + err).toMatch(/started at http:.* with another key.*--base-url/s)
  }
  const listed = await run('jobs --refresh', undefined, other)
  expect([listed.code, listed.err]).toEqual([0, expect.stringContaining('with another key')])
  expect(asked()).toHaveLength(before)
  const { code } = await run('video status --last', undefined, { MODELGATE_BASE_URL: '' })
  expect([code, asked().length]).toEqual([0, before + 1])
})

test.each([
  ['says that it is gone', text('', { status: 410 }), 0, 12],
  ['gives nothing until it expires', text('', { status: 404 }), 61 * 60_000, 11],
])('what is made and %s is lost, and never made again by itself', async (_, reply, laterMs, exit) => {
  const { cwd, run, created } = await brokenGateway('image', reply)
  writeFileSync(join(cwd, 'modelgate.yaml'), `version: 1\njobs:\n  boat:\n    ${kinds.image.manifest}\n`)
  expect((await run('run')).code).toBe(exit)
  const later = fakeClock({ start: Date.UTC(2026, 0, 1) + laterMs })
  for (const _ of [1, 2]) {
    const next = await run('run', later)
    expect([next.code, created()]).toEqual([13, 1])
  }
  const { out } = await run('run --plan', later)
  expect(out.replaceAll(/\s+/g, ' ')).toContain('It was made and billed')
  expect((await run('run --regenerate boat')).code).toBe(exit)
  expect(created()).toBe(2)
})

test('a damaged image that came in the reply itself is paid for once', async () => {
  const server = await localServer([images(large.subarray(0, -20))])
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'modelgate.yaml'), `version: 1\njobs:\n  boat:\n    ${kinds.image.manifest}\n`)
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: 'a-key-0123456789' }
  for (const exit of [12, 13]) {
    expect(await startProgram(['run'], { env, cwd }).passWaits()).toBe(exit)
  }
})

const answer = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [] as unknown[] }
answer.output.push({
  type: 'message',
  id: 'm',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Two rivers', annotations: [] }],
})

test.each([
  ['image create: { model: any, prompt: A boat }\n    out: boat.png', images(large), 'boat.png', large],
  [
    'respond: { model: m, input: Name a river }\n    out: a.txt',
    json(answer),
    'a.txt',
    Buffer.from('Two rivers'),
  ],
])('what run rescued is taken by the next one: %s', async (manifest, reply, file, bytes) => {
  const cwd = temporaryFolder()
  const work = join(cwd, '.modelgate/results')
  const server = await localServer(() => {
    // The place of the result is lost while it is made.
    const [key] = readdirSync(work)
    rmSync(join(work, key!), { recursive: true })
    writeFileSync(join(work, key!), '')
    return reply
  })
  writeFileSync(join(cwd, 'modelgate.yaml'), `version: 1\njobs:\n  boat:\n    ${manifest}\n`)
  const state = temporaryFolder()
  const env = {
    MODELGATE_BASE_URL: server.url,
    MODELGATE_API_KEY: 'a-key-0123456789',
    MODELGATE_STATE_DIR: state,
  }
  const run = () => startProgram(['run'], { env, cwd }).passWaits()
  expect(await run()).toBe(10)
  rmSync(work, { recursive: true })
  expect([await run(), server.requests.length]).toEqual([0, 1])
  expect(readFileSync(join(cwd, file)).equals(bytes)).toBe(true)
  expect(readdirSync(join(state, 'rescued/run'))).toEqual([])
})

test.each([
  [
    'a folder that leads out of the project',
    (cwd: string) => symlinkSync(temporaryFolder(), join(cwd, 'art')),
  ],
  ['a folder that leads nowhere', (cwd: string) => symlinkSync(join(cwd, 'gone'), join(cwd, 'art'))],
  ['a file in place of a folder', (cwd: string) => writeFileSync(join(cwd, 'art'), '')],
])('%s is found before anything is paid for', async (_, prepare) => {
  const { cwd, run, created } = await brokenGateway('image', text(''))
  prepare(cwd)
  const manifest = kinds.image.manifest.replace('out: ', 'out: art/')
  writeFileSync(join(cwd, 'modelgate.yaml'), `version: 1\njobs:\n  boat:\n    ${manifest}\n`)
  const { code, err } = await run('run')
  expect([code, created()]).toEqual([10, 0])
  expect(err).toContain('"art/boat.png" cannot be')
})

test('a damaged record counts as one creation of a limit, and is told', async () => {
  const { run, created, state } = await brokenGateway('image', whole(large, 'image/png'))
  const limit = { MODELGATE_MAX_CREATES: '2' }
  expect((await run(kinds.image.command, undefined, limit)).code).toBe(0)
  appendFileSync(join(state, 'calls/2026-01.jsonl'), '\0\0\0\n')
  const { code, err } = await run(`${kinds.image.command} --force`, undefined, limit)
  expect([code, created()]).toEqual([15, 1])
  expect(err).toMatch(/A record is damaged .*: it counts as a creation\./)
})
