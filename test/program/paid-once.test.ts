import { writeFileSync } from 'node:fs'
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
  },
  video: {
    bytes: clip,
    type: 'video/mp4',
    manifest: 'video generate: { model: veo, prompt: A boat }\n    out: boat.mp4',
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
  const run = async (words: string, clock?: FakeClock) => {
    const program = startProgram(words.split(' '), { env, cwd, ...(clock && { clock }) })
    const code = await program.passWaits()
    return { code, out: program.context.stdout.text, err: program.context.stderr.text }
  }
  return { cwd, run, created: () => created, mend: () => void (isMended = true) }
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
