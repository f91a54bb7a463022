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
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that a call makes, and its answer. */
export interface Exchange {
  readonly role: Role
  /** Of the request line: method and path. */
  readonly asks: RegExp
  readonly reply: WholeReply
}

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
export const generateStream: Exchange = {
  role: 'text',
  asks: /^POST \/v1beta\/models\/some-model:streamGenerateContent\?alt=sse /,
  reply: events(generated('Hello, '), { ...generated('wörld.', 'STOP'), usageMetadata }),
}

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
const delta = (text: string) => ({
  type: 'response.output_text.delta',
  output_index: 0,
  content_index: 0,
  delta: text,
})
export const respondStream: Exchange = {
  role: 'text',
  asks: /^POST \/v1\/responses /,
  reply: events(delta('Hello, '), delta('wörld.'), { type: 'response.completed', response }),
}
export const respondWhole: Exchange = { ...respondStream, reply: json(response) }
export const queued: Exchange = {
  role: 'creation',
  asks: /^POST \/v1\/responses /,
  reply: json({ ...response, status: 'queued', output: [] }),
}
const responseLookUp: Exchange = {
  role: 'look-up',
  asks: /^GET \/v1\/responses\/resp_1/,
  reply: json(response),
}

/** Whoever cannot be cancelled is asked how it goes. */
export const responseRunning: Exchange = {
  ...responseLookUp,
  reply: json({ ...response, status: 'in_progress', output: [] }),
}
export const responsePoll: Exchange = { ...responseLookUp, role: 'poll' }
export const responseStream: Exchange = {
  role: 'stream',
  asks: /^GET \/v1\/responses\/resp_1\?stream=true/,
  reply: events(
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'queued', output: [] } },
    { ...delta('Hello, '), sequence_number: 1 },
    { ...delta('wörld.'), sequence_number: 2 },
    { type: 'response.completed', sequence_number: 3, response },
  ),
}

export const responseCancel: Exchange = {
  role: 'look-up',
  asks: /^POST \/v1\/responses\/resp_1\/cancel /,
  reply: json({ ...response, status: 'cancelled', output: [] }),
}

const base64 = picture.toString('base64')
const images = json({ created: 1, data: [{ b64_json: base64 }] })
export const imageCreation: Exchange = {
  role: 'creation',
  asks: /^POST \/v1\/images\/generations /,
  reply: images,
}
export const imageEdit: Exchange = { role: 'creation', asks: /^POST \/v1\/images\/edits /, reply: images }
export const imageStream: Exchange = {
  ...imageCreation,
  reply: events({ type: 'image_generation.completed', b64_json: base64 }),
}
export const partialImages: Exchange = {
  ...imageCreation,
  reply: events(
    { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: base64 },
    { type: 'image_generation.completed', b64_json: base64 },
  ),
}
export const imageByUrl: Exchange = {
  ...imageCreation,
  reply: json({ created: 1, data: [{ url: '/made/picture.png' }] }),
}
export const pictureDownload: Exchange = {
  role: 'download',
  asks: /^GET \/made\/picture\.png /,
  reply: { type: 'image/png', pieces: [picture] },
}

export const operation = 'models/veo/operations/op-0123'
export const videoCreation: Exchange = {
  role: 'creation',
  asks: /^POST \/v1beta\/models\/veo:predictLongRunning /,
  reply: json({ name: operation }),
}
export const remixCreation: Exchange = {
  role: 'creation',
  asks: /^POST \/v1\/videos\/video_source\/remix /,
  reply: json({ id: 'video_0123456789', object: 'video', status: 'queued', progress: 0 }),
}
export const videoLookUp: Exchange = {
  role: 'poll',
  asks: /^GET \/v1beta\/models\/veo\/operations\/op-0123 /,
  reply: json({
    name: operation,
    done: true,
    response: { generateVideoResponse: { generatedSamples: [{ video: { uri: '/made/film.mp4' } }] } },
  }),
}
export const remixLookUp: Exchange = {
  role: 'look-up',
  asks: /^GET \/v1\/videos\/video_0123456789 /,
  reply: json({ id: 'video_0123456789', object: 'video', status: 'completed', progress: 100 }),
}
export const filmDownload: Exchange = {
  role: 'download',
  asks: /^GET \/made\/film\.mp4 /,
  reply: { type: 'video/mp4', pieces: [film] },
}

export const modelList: Exchange = {
  role: 'look-up',
  asks: /^GET \/v1\/models /,
  reply: json({ object: 'list', data: [{ id: 'some-model', object: 'model', owned_by: 'somebody' }] }),
}

export const gatewayCheck: Exchange = { ...modelList, role: 'report' }

export const remixPoll: Exchange = { ...remixLookUp, role: 'poll' }
export const remixReport: Exchange = { ...remixLookUp, role: 'report' }
export const remixDownload: Exchange = {
  role: 'download',
  asks: /^GET \/v1\/videos\/video_0123456789\/content/,
  reply: { type: 'video/mp4', pieces: [film] },
}
