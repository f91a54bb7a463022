import type { Instance } from '../../src/pipeline/manifest/manifest.ts'
import { instanceOf, textField } from '../support/pipeline-task.ts'
import {
  picture,
  film,
  generateStream,
  respondStream,
  respondWhole,
  queued,
  responseRunning,
  responsePoll,
  responseStream,
  responseCancel,
  imageCreation,
  imageEdit,
  imageStream,
  partialImages,
  imageByUrl,
  pictureDownload,
  operation,
  videoCreation,
  remixCreation,
  videoLookUp,
  remixLookUp,
  filmDownload,
  modelList,
  gatewayCheck,
  remixPoll,
  remixReport,
  remixDownload,
  type Exchange,
} from './exchanges.ts'

/** Every way to call the program that sends something: what the fault programme spoils one by one. */

export interface Call {
  readonly name: string
  readonly argv: readonly string[]
  /** How it is run: the program with these arguments, a chat with them, a worker of a queue with a task. */
  readonly how: 'program' | 'chat' | 'worker'
  /** During the first answer of a chat. */
  readonly typed?: string
  /** Of the worker. */
  readonly task?: Instance
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

const hello = { stdout: 'Hello, wörld.\n', files: {} }

const begun = 'Hello, \n'
const program = { how: 'program' } as const
const saved = (name: string, bytes: Uint8Array) => ({ stdout: `${name}\n`, files: { [name]: bytes } })
const manifest = (job: string) => ({ 'modelgate.yaml': `version: 1\njobs:\n  one:\n${job}` })

const worker = { how: 'worker', argv: ['run', 'worker'] } as const
const task = (command: Instance['command'], model: string, prompt: string, output: string) =>
  instanceOf({ command, model, fields: { prompt: textField(prompt) }, output })
const unsaid = (name: string, bytes: Uint8Array) => ({ stdout: '', files: { [name]: bytes } })

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
    files: { 'talk.json': JSON.stringify({ version: 2, style: 'generate', messages: [] }) },
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
    how: 'chat',
    name: 'chat',
    argv: ['chat', '-m', 'some-model', '--render', 'never', 'Say hello.'],
    exchanges: [respondStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'wait, a response',
    argv: ['wait', 'resp_1'],
    exchanges: [responsePoll],
    leaves: hello,
  },
  {
    ...program,
    name: 'wait --stream, a response',
    argv: ['wait', 'resp_1', '--stream'],
    exchanges: [responseStream],
    leaves: hello,
    begun,
  },
  {
    ...program,
    name: 'cancel',
    argv: ['cancel', 'resp_1'],
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
    name: 'wait, the operation of a video',
    argv: ['wait', '-o', 'x.mp4', operation],
    exchanges: [videoLookUp, filmDownload],
    leaves: saved('x.mp4', film),
  },
  {
    ...program,
    name: 'wait, a video',
    argv: ['wait', '-o', 'x.mp4', 'video_0123456789'],
    exchanges: [remixPoll, remixDownload],
    leaves: saved('x.mp4', film),
  },
  {
    ...program,
    name: 'jobs --refresh',
    before: [
      ['video', 'remix', '-m', 'video-model-remix', '--no-check', '--no-wait', 'video_source', 'Night'],
    ],
    provides: [remixCreation],
    argv: ['jobs', '--refresh'],
    exchanges: [remixReport],
    leaves: { stdout: '', files: {} },
  },
  {
    ...program,
    name: 'models',
    argv: ['models'],
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
  {
    ...worker,
    name: 'run worker, a text',
    task: task('generate', 'some-model', 'Say hello.', 'x.txt'),
    exchanges: [generateStream],
    leaves: unsaid('x.txt', Buffer.from('Hello, wörld.')),
  },
  {
    ...worker,
    name: 'run worker, an image',
    task: task('image create', 'gpt-image-2', 'A boat', 'x.png'),
    exchanges: [imageCreation],
    leaves: unsaid('x.png', picture),
  },
  {
    ...worker,
    name: 'run worker, a video',
    task: task('video generate', 'veo', 'A boat', 'x.mp4'),
    exchanges: [videoCreation, videoLookUp, filmDownload],
    leaves: unsaid('x.mp4', film),
  },
]
