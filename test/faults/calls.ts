import { pngBytes } from '../support/image-bytes.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

/**
 * Every way to call the program that sends something, with a gateway's right answers: what the fault programme spoils one
 * by one. The wire shapes are those of docs/gateway-interface.md and docs/wire-notes.md.
 */

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

export interface Call {
  readonly name: string
  readonly argv: readonly string[]
  /** How it is run: the program with these arguments, a chat with them, a worker of the manifest's tasks. */
  readonly how: 'program' | 'chat' | 'worker'
  /** Calls made before it, on a gateway that answers rightly. */
  readonly before?: readonly (readonly string[])[]
  /** What else the gateway answers. */
  readonly provides?: readonly Exchange[]
  /** In the working directory. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** In the order in which they are asked. */
  readonly exchanges: readonly Exchange[]
  /** What it leaves when all goes well. */
  readonly leaves: {
    readonly stdout: string
    readonly files: Readonly<Record<string, Uint8Array>>
  }
  /** What has been printed once the first piece of a streamed reply is there; nothing unless told. */
  readonly begun?: string
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
const picture = pngBytes({ width: 2, height: 1 })
const film = mp4Bytes({ width: 1280, height: 720, duration: 4000 }, Buffer.alloc(64, 7))

const generated = (text: string, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, finishReason }],
})
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
const generateStream: Exchange = {
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
const respondStream: Exchange = {
  role: 'text',
  asks: /^POST \/v1\/responses /,
  reply: events(delta('Hello, '), delta('wörld.'), { type: 'response.completed', response }),
}
const respondWhole: Exchange = { ...respondStream, reply: json(response) }
const queued: Exchange = {
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
const responseRunning: Exchange = {
  ...responseLookUp,
  reply: json({ ...response, status: 'in_progress', output: [] }),
}
const responsePoll: Exchange = { ...responseLookUp, role: 'poll' }
const responseStream: Exchange = {
  role: 'stream',
  asks: /^GET \/v1\/responses\/resp_1\?stream=true/,
  reply: events(
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'queued', output: [] } },
    { ...delta('Hello, '), sequence_number: 1 },
    { ...delta('wörld.'), sequence_number: 2 },
    { type: 'response.completed', sequence_number: 3, response },
  ),
}

const responseCancel: Exchange = {
  role: 'look-up',
  asks: /^POST \/v1\/responses\/resp_1\/cancel /,
  reply: json({ ...response, status: 'cancelled', output: [] }),
}

const base64 = picture.toString('base64')
const images = json({ created: 1, data: [{ b64_json: base64 }] })
const imageCreation: Exchange = { role: 'creation', asks: /^POST \/v1\/images\/generations /, reply: images }
const imageEdit: Exchange = { role: 'creation', asks: /^POST \/v1\/images\/edits /, reply: images }
const imageStream: Exchange = {
  ...imageCreation,
  reply: events({ type: 'image_generation.completed', b64_json: base64 }),
}
const partialImages: Exchange = {
  ...imageCreation,
  reply: events(
    { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: base64 },
    { type: 'image_generation.completed', b64_json: base64 },
  ),
}
const imageByUrl: Exchange = {
  ...imageCreation,
  reply: json({ created: 1, data: [{ url: '/made/picture.png' }] }),
}
const pictureDownload: Exchange = {
  role: 'download',
  asks: /^GET \/made\/picture\.png /,
  reply: { type: 'image/png', pieces: [picture] },
}

const operation = 'models/veo/operations/op-0123'
const videoCreation: Exchange = {
  role: 'creation',
  asks: /^POST \/v1beta\/models\/veo:predictLongRunning /,
  reply: json({ name: operation }),
}
const remixCreation: Exchange = {
  role: 'creation',
  asks: /^POST \/v1\/videos\/video_source\/remix /,
  reply: json({ id: 'video_0123456789', object: 'video', status: 'queued', progress: 0 }),
}
const videoLookUp: Exchange = {
  role: 'poll',
  asks: /^GET \/v1beta\/models\/veo\/operations\/op-0123 /,
  reply: json({
    name: operation,
    done: true,
    response: { generateVideoResponse: { generatedSamples: [{ video: { uri: '/made/film.mp4' } }] } },
  }),
}
const remixLookUp: Exchange = {
  role: 'look-up',
  asks: /^GET \/v1\/videos\/video_0123456789 /,
  reply: json({ id: 'video_0123456789', object: 'video', status: 'completed', progress: 100 }),
}
const filmDownload: Exchange = {
  role: 'download',
  asks: /^GET \/made\/film\.mp4 /,
  reply: { type: 'video/mp4', pieces: [film] },
}

const modelList: Exchange = {
  role: 'look-up',
  asks: /^GET \/v1\/models /,
  reply: json({ object: 'list', data: [{ id: 'some-model', object: 'model', owned_by: 'somebody' }] }),
}

const gatewayCheck: Exchange = { ...modelList, role: 'report' }

const hello = { stdout: 'Hello, wörld.\n', files: {} }
const remixPoll: Exchange = { ...remixLookUp, role: 'poll' }
const remixReport: Exchange = { ...remixLookUp, role: 'report' }
const remixDownload: Exchange = {
  role: 'download',
  asks: /^GET \/v1\/videos\/video_0123456789\/content/,
  reply: { type: 'video/mp4', pieces: [film] },
}

const begun = 'Hello, \n'
const program = { how: 'program' } as const
const saved = (name: string, bytes: Uint8Array) => ({ stdout: `${name}\n`, files: { [name]: bytes } })
const manifest = (job: string) => ({ 'modelgate.yaml': `version: 1\njobs:\n  one:\n${job}` })

// A text that may have been made is asked for again by a run, unless the manifest forbids it.
const textJob = manifest(
  '    generate: { model: some-model, prompt: Say hello. }\n    on_unknown: stop\n    out: x.txt\n',
)
const imageJob = manifest('    image create: { model: gpt-image-2, prompt: A boat }\n    out: x.png\n')
const videoJob = manifest('    video generate: { model: veo, prompt: A boat }\n    out: x.mp4\n')

/** Its standard output is not about one thing alone. */
export const isReport = ({ exchanges }: Call): boolean => exchanges[0]?.role === 'report'

export const calls: readonly Call[] = [
  {
    ...program,
    name: 'generate',
    argv: ['generate', '-m', 'some-model', 'Say hello.'],
    exchanges: [generateStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'generate -o',
    argv: ['generate', '-m', 'some-model', '-o', 'x.txt', 'Say hello.'],
    exchanges: [generateStream],
    leaves: { stdout: '', files: { 'x.txt': Buffer.from('Hello, wörld.') } },
    begun,
  },
  {
    ...program,
    name: 'generate --conversation-file',
    files: { 'talk.json': JSON.stringify({ version: 1, style: 'generate', turns: [] }) },
    argv: ['generate', '-m', 'some-model', '--conversation-file', 'talk.json', 'Say hello.'],
    exchanges: [generateStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'respond',
    argv: ['respond', '-m', 'some-model', 'Say hello.'],
    exchanges: [respondStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'respond --no-stream',
    argv: ['respond', '-m', 'some-model', '--no-stream', 'Say hello.'],
    exchanges: [respondWhole],
    leaves: hello,
  },
  {
    ...program,
    name: 'respond --background',
    argv: ['respond', '-m', 'some-model', '--background', 'Say hello.'],
    exchanges: [queued],
    leaves: { stdout: 'resp_1\n', files: {} },
  },
  {
    ...program,
    name: 'again',
    before: [['generate', '-m', 'some-model', 'Say hello.']],
    argv: ['again'],
    exchanges: [generateStream],
    leaves: hello,
    begun,
  },
  {
    how: 'chat',
    name: 'chat',
    argv: ['chat', '-m', 'some-model', '--render', 'never', 'Say hello.'],
    exchanges: [respondStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'response status',
    argv: ['response', 'status', 'resp_1'],
    exchanges: [responseLookUp],
    leaves: { stdout: 'id        resp_1\nmodel     some-model\nstate     completed\n', files: {} },
  },
  {
    ...program,
    name: 'response wait',
    argv: ['response', 'wait', 'resp_1'],
    exchanges: [responsePoll],
    leaves: hello,
  },
  {
    ...program,
    name: 'response wait --stream',
    argv: ['response', 'wait', 'resp_1', '--stream'],
    exchanges: [responseStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'response cancel',
    argv: ['response', 'cancel', 'resp_1'],
    exchanges: [responseCancel],
    provides: [responseRunning],
    leaves: { stdout: 'id        resp_1\nmodel     some-model\nstate     cancelled\n', files: {} },
  },
  {
    ...program,
    name: 'image create',
    argv: ['image', 'create', '-m', 'gpt-image-2', '-o', 'x.png', 'A boat'],
    exchanges: [imageCreation],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'image create --stream',
    argv: ['image', 'create', '-m', 'gpt-image-2', '--stream', '-o', 'x.png', 'A boat'],
    exchanges: [imageStream],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'image create --partial-images',
    argv: [
      'image',
      'create',
      '-m',
      'gpt-image-2',
      '--stream',
      '--partial-images',
      '1',
      '-o',
      'x.png',
      'A boat',
    ],
    exchanges: [partialImages],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'image create, by URL',
    argv: ['image', 'create', '-m', 'image-model-b', '-o', 'x.png', 'A boat'],
    exchanges: [imageByUrl, pictureDownload],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'image edit',
    files: { 'in.png': picture },
    argv: ['image', 'edit', '-m', 'gpt-image-2', '--image', 'in.png', '-o', 'x.png', 'At night'],
    exchanges: [imageEdit],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'video generate --no-wait',
    argv: ['video', 'generate', '-m', 'veo', '--no-wait', 'A boat'],
    exchanges: [videoCreation],
    leaves: { stdout: `${operation}\n`, files: {} },
  },
  {
    ...program,
    name: 'video generate --wait',
    argv: ['video', 'generate', '-m', 'veo', '--wait', '-o', 'x.mp4', 'A boat'],
    exchanges: [videoCreation, videoLookUp, filmDownload],
    leaves: saved('x.mp4', film),
  },
  {
    ...program,
    name: 'video remix --no-wait',
    argv: ['video', 'remix', '-m', 'video-model-remix', '--no-check', '--no-wait', 'video_source', 'Night'],
    exchanges: [remixCreation],
    leaves: { stdout: 'video_0123456789\n', files: {} },
  },
  {
    ...program,
    name: 'video status',
    argv: ['video', 'status', 'video_0123456789'],
    exchanges: [remixLookUp],
    leaves: { stdout: 'id        video_0123456789\nstate     completed\nprogress  100%\n', files: {} },
  },
  {
    ...program,
    name: 'video wait',
    argv: ['video', 'wait', '-o', 'x.mp4', operation],
    exchanges: [videoLookUp, filmDownload],
    leaves: saved('x.mp4', film),
  },
  {
    ...program,
    name: 'video wait, a video',
    argv: ['video', 'wait', '-o', 'x.mp4', 'video_0123456789'],
    exchanges: [remixPoll, remixDownload],
    leaves: saved('x.mp4', film),
  },
  {
    ...program,
    name: 'video list --refresh',
    before: [
      ['video', 'remix', '-m', 'video-model-remix', '--no-check', '--no-wait', 'video_source', 'Night'],
    ],
    provides: [remixCreation],
    argv: ['video', 'list', '--refresh'],
    exchanges: [remixReport],
    leaves: { stdout: '', files: {} },
  },
  {
    ...program,
    name: 'models --remote',
    argv: ['models', '--remote'],
    exchanges: [modelList],
    leaves: { stdout: 'some-model\t\t\t\t\t\n', files: {} },
  },
  {
    ...program,
    name: 'auth status --check',
    argv: ['auth', 'status', '--check'],
    exchanges: [gatewayCheck],
    leaves: { stdout: '', files: {} },
  },
  {
    ...program,
    name: 'doctor',
    argv: ['doctor'],
    exchanges: [gatewayCheck],
    leaves: { stdout: '', files: {} },
  },
  {
    ...program,
    name: 'run, a text',
    files: textJob,
    argv: ['run', '--yes'],
    exchanges: [generateStream],
    leaves: saved('x.txt', Buffer.from('Hello, wörld.')),
  },
  {
    ...program,
    name: 'run, an image',
    files: imageJob,
    argv: ['run', '--yes'],
    exchanges: [imageCreation],
    leaves: saved('x.png', picture),
  },
  {
    ...program,
    name: 'run, a video',
    files: videoJob,
    argv: ['run', '--yes'],
    exchanges: [videoCreation, videoLookUp, filmDownload],
    leaves: saved('x.mp4', film),
  },
]
