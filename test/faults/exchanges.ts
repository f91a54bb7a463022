import { pngBytes } from '../support/image-bytes.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

/** What a gateway is asked, and its right answers. The wire shapes are those of the specification and docs/wire-notes.md. */

/** What a request is for, which decides what its failure means (phases in docs/faults.md). */
export type Role =
  /** Asks for text: costs money, and is asked again only where nothing can have been done. */
  | 'text'
  /** Creates images, a job, a background response: a lost reply leaves an unknown outcome. */
  | 'creation'
  /** Reads a state. */
  | 'look-up'
  /** The same, again and again until the job has ended: one that fails is followed by the next (fault F5). */
  | 'poll'
  /** Takes the stream of a background response, which is taken up again where it broke off (fault F20). */
  | 'stream'
  /** Reports what the gateway says of itself or of jobs; what went wrong may be a part of the report. */
  | 'report'
  /** Fetches a file. */
  | 'download'

/** An answer as it should come. */
export interface WholeReply {
  readonly type: 'application/json' | 'text/event-stream' | 'image/png' | 'video/mp4'
  /** What a gateway writes at once: a whole document, or an event. */
  readonly pieces: readonly Buffer[]
}

/** A request that a call makes, and its answer. */
export interface Exchange {
  readonly role: Role
  /** Of the request line: method and path. */
  readonly asks: RegExp
  readonly reply: WholeReply
}

const exchange = (role: Role, asks: RegExp, reply: WholeReply): Exchange => ({ role, asks, reply })
const json = (value: unknown): WholeReply => ({
  type: 'application/json',
  pieces: [Buffer.from(JSON.stringify(value))],
})
const events = (...values: readonly object[]): WholeReply => ({
  type: 'text/event-stream',
  pieces: values.map((value) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)),
})

/** Pictures and films small enough to be cut at each byte. */
export const picture = pngBytes({ width: 2, height: 1 })
export const film = mp4Bytes({ width: 1280, height: 720, duration: 4000 }, Buffer.alloc(64, 7))

const generated = (text: string, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, finishReason }],
})
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
export const generateStream = exchange(
  'text',
  /^POST \/v1beta\/models\/some-model:streamGenerateContent\?alt=sse /,
  events(generated('Hello, '), { ...generated('wörld.', 'STOP'), usageMetadata }),
)

const message = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello, wörld.' }],
}
const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'some-model',
  output: [message],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const unfinished = (status: string) => ({ ...response, status, output: [] })
const place = { output_index: 0, content_index: 0 }
const delta = (text: string) => ({ type: 'response.output_text.delta', ...place, delta: text })
const responses = /^POST \/v1\/responses /
export const respondStream = exchange(
  'text',
  responses,
  events(delta('Hello, '), delta('wörld.'), { type: 'response.completed', response }),
)
export const respondWhole = exchange('text', responses, json(response))
export const queued = exchange('creation', responses, json(unfinished('queued')))

const response1 = /^GET \/v1\/responses\/resp_1/
/** Whoever cannot be cancelled is asked how it goes. */
export const responseRunning = exchange('look-up', response1, json(unfinished('in_progress')))
export const responsePoll = exchange('poll', response1, json(response))
export const responseStream = exchange(
  'stream',
  /^GET \/v1\/responses\/resp_1\?stream=true/,
  events(
    { type: 'response.created', sequence_number: 0, response: unfinished('queued') },
    { ...delta('Hello, '), sequence_number: 1 },
    { ...delta('wörld.'), sequence_number: 2 },
    { type: 'response.completed', sequence_number: 3, response },
  ),
)
export const responseCancel = exchange(
  'look-up',
  /^POST \/v1\/responses\/resp_1\/cancel /,
  json(unfinished('cancelled')),
)

const base64 = picture.toString('base64')
const images = json({ created: 1, data: [{ b64_json: base64 }] })
const completed = { type: 'image_generation.completed', b64_json: base64 }
const partial = { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: base64 }
const byUrl = json({ created: 1, data: [{ url: '/made/picture.png' }] })
const generations = /^POST \/v1\/images\/generations /
export const imageCreation = exchange('creation', generations, images)
export const imageEdit = exchange('creation', /^POST \/v1\/images\/edits /, images)
export const imageStream = exchange('creation', generations, events(completed))
export const partialImages = exchange('creation', generations, events(partial, completed))
export const imageByUrl = exchange('creation', generations, byUrl)
const pictureFile: WholeReply = { type: 'image/png', pieces: [picture] }
export const pictureDownload = exchange('download', /^GET \/made\/picture\.png /, pictureFile)

export const operation = 'models/veo/operations/op-0123'
const generatedSamples = [{ video: { uri: '/made/film.mp4' } }]
const done = { name: operation, done: true, response: { generateVideoResponse: { generatedSamples } } }
const video = { id: 'video_0123456789', object: 'video' }
const remixed = json({ ...video, status: 'completed', progress: 100 })
const remixState = /^GET \/v1\/videos\/video_0123456789 /
const filmFile: WholeReply = { type: 'video/mp4', pieces: [film] }
export const videoCreation = exchange(
  'creation',
  /^POST \/v1beta\/models\/veo:predictLongRunning /,
  json({ name: operation }),
)
export const videoLookUp = exchange('poll', /^GET \/v1beta\/models\/veo\/operations\/op-0123 /, json(done))
export const filmDownload = exchange('download', /^GET \/made\/film\.mp4 /, filmFile)
export const remixCreation = exchange(
  'creation',
  /^POST \/v1\/videos\/video_source\/remix /,
  json({ ...video, status: 'queued', progress: 0 }),
)
export const remixLookUp = exchange('look-up', remixState, remixed)
export const remixPoll = exchange('poll', remixState, remixed)
export const remixReport = exchange('report', remixState, remixed)
export const remixDownload = exchange('download', /^GET \/v1\/videos\/video_0123456789\/content/, filmFile)

const models = { object: 'list', data: [{ id: 'some-model', object: 'model', owned_by: 'somebody' }] }
export const modelList = exchange('look-up', /^GET \/v1\/models /, json(models))
export const gatewayCheck: Exchange = { ...modelList, role: 'report' }
