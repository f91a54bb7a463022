import * as asked from './exchanges.ts'
import type { Exchange } from './exchanges.ts'

const { film, operation, picture } = asked

/** Every way to call the program that sends something: what the fault programme spoils one by one. */

export interface Call {
  readonly name: string
  readonly argv: readonly string[]
  /** How it is run: the program with these arguments, or a chat with them. */
  readonly how: 'program' | 'chat'
  /** During the first answer of a chat. */
  readonly typed?: string
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

/** The words of a command line. */
export const line = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)

const printed = (stdout: string) => ({ stdout, files: {} })
const hello = printed('Hello, wörld.\n')

const begun = 'Hello, \n'
const call = (
  name: string,
  words: string,
  exchanges: readonly Exchange[],
  leaves: Call['leaves'],
  more: Partial<Call> = {},
): Call => ({ how: 'program', name, argv: line(words), exchanges, leaves, ...more })
const saved = (name: string, bytes: Uint8Array) => ({ stdout: `${name}\n`, files: { [name]: bytes } })
const pictured = saved('x.png', picture)
const filmed = saved('x.mp4', film)
const manifest = (job: string) => ({ 'modelgate.yaml': `version: 1\njobs:\n  one:\n${job}` })

// A text that may have been made is asked for again by a run, unless the manifest forbids it.
const textJob = manifest(
  '    generate: { model: some-model, prompt: Say hello. }\n    on_unknown: stop\n    out: x.txt\n',
)
const imageJob = manifest('    image create: { model: gpt-image-2, prompt: A boat }\n    out: x.png\n')
const videoJob = manifest('    video generate: { model: veo, prompt: A boat }\n    out: x.mp4\n')

const remix = 'video remix -m video-model-remix --no-check --no-wait video_source Night'

/** Its standard output is not about one thing alone. */
export const isReport = ({ exchanges }: Call): boolean => exchanges[0]?.role === 'report'

export const calls: readonly Call[] = [
  call('generate', 'generate -m some-model "Say hello."', [asked.generateStream], hello, { begun }),
  call(
    'generate -o',
    'generate -m some-model -o x.txt "Say hello."',
    [asked.generateStream],
    { stdout: '', files: { 'x.txt': Buffer.from('Hello, wörld.') } },
    { begun },
  ),
  call(
    'generate --conversation-file',
    'generate -m some-model --conversation-file talk.json "Say hello."',
    [asked.generateStream],
    hello,
    { files: { 'talk.json': JSON.stringify({ version: 2, style: 'generate', messages: [] }) }, begun },
  ),
  call('respond', 'respond -m some-model "Say hello."', [asked.respondStream], hello, { begun }),
  call('respond --no-stream', 'respond -m some-model --no-stream "Say hello."', [asked.respondWhole], hello),
  call(
    'respond --background',
    'respond -m some-model --background "Say hello."',
    [asked.queued],
    printed('resp_1\n'),
  ),
  call('chat', 'chat -m some-model --render never "Say hello."', [asked.respondStream], hello, {
    how: 'chat',
    begun,
  }),
  call('wait, a response', 'wait resp_1', [asked.responsePoll], hello),
  call('wait --stream, a response', 'wait resp_1 --stream', [asked.responseStream], hello, { begun }),
  call(
    'cancel',
    'cancel resp_1',
    [asked.responseCancel],
    printed('id        resp_1\nmodel     some-model\nstate     cancelled\n'),
    { provides: [asked.responseRunning] },
  ),
  call('image create', 'image create -m gpt-image-2 -o x.png "A boat"', [asked.imageCreation], pictured),
  call(
    'image create --stream',
    'image create -m gpt-image-2 --stream -o x.png "A boat"',
    [asked.imageStream],
    pictured,
  ),
  call(
    'image create --partial-images',
    'image create -m gpt-image-2 --stream --partial-images 1 -o x.png "A boat"',
    [asked.partialImages],
    pictured,
  ),
  call(
    'image create, by URL',
    'image create -m image-model-b -o x.png "A boat"',
    [asked.imageByUrl, asked.pictureDownload],
    pictured,
  ),
  call(
    'image edit',
    'image edit -m gpt-image-2 --image in.png -o x.png "At night"',
    [asked.imageEdit],
    pictured,
    { files: { 'in.png': picture } },
  ),
  call(
    'video generate --no-wait',
    'video generate -m veo --no-wait "A boat"',
    [asked.videoCreation],
    printed(`${operation}\n`),
  ),
  call(
    'video generate --wait',
    'video generate -m veo --wait -o x.mp4 "A boat"',
    [asked.videoCreation, asked.videoLookUp, asked.filmDownload],
    filmed,
  ),
  call('video remix --no-wait', remix, [asked.remixCreation], printed('video_0123456789\n')),
  call(
    'video status',
    'video status video_0123456789',
    [asked.remixLookUp],
    printed('id        video_0123456789\nstate     completed\nprogress  100%\n'),
  ),
  call(
    'wait, the operation of a video',
    `wait -o x.mp4 ${operation}`,
    [asked.videoLookUp, asked.filmDownload],
    filmed,
  ),
  call('wait, a video', 'wait -o x.mp4 video_0123456789', [asked.remixPoll, asked.remixDownload], filmed),
  call('jobs --refresh', 'jobs --refresh', [asked.remixReport], printed(''), {
    before: [line(remix)],
    provides: [asked.remixCreation],
  }),
  call('models', 'models', [asked.modelList], printed('some-model\t\t\t\t\t\n')),
  call('auth status --check', 'auth status --check', [asked.gatewayCheck], printed('')),
  call('doctor', 'doctor', [asked.gatewayCheck], printed('')),
  call('run, a text', 'run --yes', [asked.generateStream], saved('x.txt', Buffer.from('Hello, wörld.')), {
    files: textJob,
  }),
  call('run, an image', 'run --yes', [asked.imageCreation], pictured, { files: imageJob }),
  call('run, a video', 'run --yes', [asked.videoCreation, asked.videoLookUp, asked.filmDownload], filmed, {
    files: videoJob,
  }),
]
