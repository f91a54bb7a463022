import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished, expect, test } from 'vitest'
import { gifBytes, jpegBytes, noisyPng, webpBytes } from '../support/image-bytes.ts'
import { chunk, head } from '../support/server-replies.ts'
import { box, ftyp, moov, mp4Bytes } from '../support/video-bytes.ts'
import { startProgram } from './start-program.ts'
import { canaryKey } from '../support/canary-key.ts'
import { sample } from '../support/sample.ts'

/** How the head of a reply says where its body ends, and how it ends. */
interface Delivery {
  readonly name: string
  readonly head: (whole: number, sent: number) => string
  readonly isChunked?: boolean
  readonly ending: 'fin' | 'rst'
}

const closing = head(200)
const truthful = (_: number, sent: number) => head(200, { 'content-length': String(sent) })
const announced = (whole: number) => head(200, { 'content-length': String(whole) })

const deliveries: readonly Delivery[] = [
  { name: 'closed', head: () => closing, ending: 'fin' },
  { name: 'closed and reset', head: () => closing, ending: 'rst' },
  { name: 'shorter than announced', head: announced, ending: 'fin' },
  { name: 'shorter than announced and reset', head: announced, ending: 'rst' },
  {
    name: 'in chunks without an end',
    head: () => head(200, { 'transfer-encoding': 'chunked' }),
    isChunked: true,
    ending: 'fin',
  },
  { name: 'of a length that is true', head: truthful, ending: 'fin' },
]

/** A gateway that makes one image or video, and always sends the same beginning of it. */
async function cuttingGateway(bytes: Uint8Array, isVideo: boolean) {
  let delivery = deliveries[0]!
  let sent = 0
  const answerFile = (socket: Socket) => {
    const content = bytes.subarray(0, sent)
    socket.write(delivery.head(bytes.length, sent))
    socket.write(delivery.isChunked ? chunk(content).subarray(0, -2) : content, () => {
      if (delivery.ending === 'fin') socket.end()
      else socket.resetAndDestroy()
    })
  }
  const operation = 'models/veo/operations/op'
  const done = { generateVideoResponse: { generatedSamples: [{ video: { uri: '/file' } }] } }
  const answer = (socket: Socket, line: string) => {
    if (line.startsWith('GET /file')) return answerFile(socket)
    const value = !isVideo
      ? { created: 1, data: [{ url: '/file' }] }
      : line.startsWith('POST')
        ? { name: operation }
        : { name: operation, done: true, response: done }
    const json = JSON.stringify(value)
    return socket.end(head(200, { 'content-length': String(json.length) }) + json)
  }
  const server = createServer((socket) => {
    let request = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      request += data.toString('latin1')
      const end = request.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0)
      if (end >= 0 && request.length === end + 4 + length) answer(socket, request.split('\r\n', 1)[0]!)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    send(next: Delivery, length: number) {
      delivery = next
      sent = length
    },
  }
}

/** Runs the program, while its waits pass at once: its exit code, the files there are, and those on record. */
async function run(words: readonly string[], url: string) {
  const program = startProgram(words, {
    env: { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() },
  })
  const code = await program.passWaits()
  const cwd = join(program.home, 'project')
  const files = new Map(readdirSync(cwd).map((name) => [name, readFileSync(join(cwd, name))]))
  const records = readdirSync(program.home, { recursive: true, withFileTypes: true })
    .filter(({ name }) => /^\d+-[0-9a-f]{16}\.json$/.test(name))
    .map(({ parentPath, name }) => JSON.parse(readFileSync(join(parentPath, name), 'utf8')) as object)
  return { code, files, recorded: records.flatMap((record) => (record as { files: string[] }).files) }
}

/** As encoders write it for the web: the index in front, which says where the pictures are. */
const offset = Buffer.alloc(12)
offset.writeUInt32BE(1, 4)
const front = [ftyp(), moov().subarray(8)]
const indexBytes = front[0]!.length + front[1]!.length + 8 + 8 * 4 + 12 + 8 + 8
offset.writeUInt32BE(indexBytes, 8)
const fastStart = Buffer.concat([
  front[0]!,
  box('moov', front[1]!, box('trak', box('mdia', box('minf', box('stbl', box('stco', offset)))))),
  box('mdat', Buffer.alloc(300, 7)),
])

const families: readonly (readonly [string, string, Uint8Array])[] = [
  ['MP4 with its index in front', 'mp4', fastStart],
  ['MP4 with its index at the end', 'mp4', mp4Bytes({}, Buffer.alloc(200, 7))],
  ['PNG', 'png', noisyPng(12, 9)],
  ['JPEG', 'jpg', jpegBytes({ width: 3, height: 2 })],
  ['WebP', 'webp', webpBytes('VP8X', Buffer.of(0, 0, 0, 0, 2, 0, 0, 1, 0, 0), Buffer.alloc(99, 5))],
  ['GIF', 'gif', gifBytes({ width: 3, height: 2, colours: 16 })],
]
const isVideo = (extension: string) => extension === 'mp4'

test.each(families)(
  'a cut %s never gets its name, is never recorded, and never ends in 0',
  async (_, extension, bytes) => {
    const gateway = await cuttingGateway(bytes, isVideo(extension))
    const words = isVideo(extension)
      ? ['video', 'generate', '-m', 'veo', '--wait', '-o', 'x.{ext}', 'A boat']
      : ['image', 'create', '-m', 'm', '-o', 'x.{ext}', 'A kite']
    const cuts = [
      Math.floor(bytes.length * 0.2),
      Math.floor(bytes.length * 0.6),
      bytes.length - 9,
      bytes.length - 1,
    ]
    const all = deliveries.flatMap((delivery) => cuts.map((cut) => ({ delivery, cut })))
    const placeOf = ({ delivery, cut }: (typeof all)[number]) =>
      `${extension}, ${delivery.name}, ${cut} of ${bytes.length}`
    for (const one of sample(all, { quick: 5, ci: Infinity }, placeOf)) {
      const { delivery, cut } = one
      gateway.send(delivery, cut)
      const { code, files, recorded } = await run(words, gateway.url)
      const name = `x.damaged.${extension}`
      const place = placeOf(one)
      expect({ place, code, files: [...files.keys()], recorded }).toEqual({
        place,
        code: 11,
        files: [name],
        recorded: [],
      })
      // What was reset may have been lost on its way.
      const kept = files.get(name)!
      const sent = delivery.ending === 'rst' ? kept.length : cut
      expect(kept.equals(bytes.subarray(0, sent))).toBe(true)
    }
  },
)

test.each(families)('a whole %s is accepted however it is delivered', async (_, extension, bytes) => {
  const gateway = await cuttingGateway(bytes, isVideo(extension))
  const words = isVideo(extension)
    ? ['video', 'generate', '-m', 'veo', '--wait', '-o', 'x.{ext}', '--json', 'A boat']
    : ['image', 'create', '-m', 'm', '-o', 'x.{ext}', '--json', 'A kite']
  for (const delivery of deliveries.filter(({ isChunked, ending }) => !isChunked && ending === 'fin')) {
    gateway.send(delivery, bytes.length)
    const { code, files } = await run(words, gateway.url)
    expect([delivery.name, code, [...files.keys()]]).toEqual([delivery.name, 0, [`x.${extension}`]])
  }
})
