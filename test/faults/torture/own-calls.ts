import { calls, type Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'

/** Calls that write files, and send nothing or what others of the table send, too. */

function called(name: string): Call {
  const found = calls.find((call) => call.name === name)
  if (found === undefined) throw new Error(`There is no call ${JSON.stringify(name)}.`)
  return found
}

const [generated, responded, imaged, edited, filmed] = [
  'generate',
  'respond',
  'image create',
  'image edit',
  'video generate --wait',
].map((name) => called(name).exchanges) as [Exchange[], Exchange[], Exchange[], Exchange[], Exchange[]]

const program = { how: 'program', leaves: { stdout: '', files: {} } } as const
const picture = called('image edit').files!['in.png']!
const image = { 'modelgate.yaml': called('run, an image').files!['modelgate.yaml']! }
const hello = ['generate', '-m', 'some-model', 'Say hello.']

const chain = `version: 1
jobs:
  words:
    generate: { model: some-model, prompt: Say hello. }
    on_unknown: stop
    out: words.txt
  boat:
    image create: { model: gpt-image-2, prompt: { file: "@words" } }
    out: boat.png
  night:
    image edit: { model: gpt-image-2, prompt: At night, image: "@boat" }
    out: night.png
  film:
    video generate: { model: veo, prompt: It sails, image: "@night" }
    out: x.mp4
`

const variants = `version: 1
jobs:
  one:
    image create: { model: gpt-image-2, prompt: A boat }
    variants: 2
    out: x.png
`

export const ownCalls: readonly Call[] = [
  {
    ...program,
    name: 'generate --json',
    argv: ['generate', '--json', '-m', 'some-model', 'Say hello.'],
    exchanges: generated,
  },
  {
    ...program,
    name: 'respond --conversation-file, a new one',
    argv: ['respond', '-m', 'some-model', '--conversation-file', 'talk.yaml', 'Say hello.'],
    exchanges: responded,
  },
  {
    ...program,
    name: 'respond --conversation-file, once more',
    before: [['respond', '-m', 'some-model', '--conversation-file', 'talk.yaml', 'Say hello.']],
    argv: ['respond', '-m', 'some-model', '--conversation-file', 'talk.yaml', 'And again.'],
    exchanges: responded,
  },
  {
    ...program,
    how: 'chat',
    name: 'chat, which is saved',
    argv: called('chat').argv,
    typed: '/save talk.yaml\r/save answer.md\r/exit\r',
    exchanges: responded,
  },
  {
    ...program,
    name: 'image create --json, over an older file',
    files: { 'x.png': 'old' },
    argv: ['image', 'create', '--json', '--force', '-m', 'gpt-image-2', '-o', 'x.png', 'A boat'],
    exchanges: imaged,
  },
  {
    ...program,
    name: 'image create --sidecar',
    argv: ['image', 'create', '--sidecar', '-m', 'gpt-image-2', '-o', 'x.png', 'A boat'],
    exchanges: imaged,
  },
  { ...program, name: 'log', before: [hello], provides: generated, argv: ['log'], exchanges: [] },
  {
    ...program,
    name: 'log clear',
    before: [hello],
    provides: generated,
    argv: ['log', 'clear', '--force'],
    exchanges: [],
  },
  { ...program, name: 'usage', before: [hello], provides: generated, argv: ['usage'], exchanges: [] },
  { ...program, name: 'inspect', files: { 'in.png': picture }, argv: ['inspect', 'in.png'], exchanges: [] },
  { ...program, name: 'config set', argv: ['config', 'set', 'text_model', 'some-model'], exchanges: [] },
  {
    ...program,
    name: 'config set, once more',
    before: [['config', 'set', 'text_model', 'some-model']],
    argv: ['config', 'set', 'image_model', 'gpt-image-2'],
    exchanges: [],
  },
  {
    ...program,
    name: 'run --shard',
    files: image,
    argv: ['run', '--yes', '--shard', '1/1'],
    exchanges: imaged,
  },
  {
    ...program,
    name: 'run merge',
    files: image,
    before: [['run', '--yes', '--shard', '1/1']],
    provides: imaged,
    argv: ['run', 'merge', '.modelgate/parts/1-of-1'],
    exchanges: [],
  },
  {
    ...program,
    name: 'run pick',
    files: { 'modelgate.yaml': variants },
    before: [['run', '--yes']],
    provides: imaged,
    argv: ['run', 'pick', 'one', '2'],
    exchanges: [],
  },
  {
    ...program,
    name: 'run adopt',
    files: { ...image, 'x.png': picture },
    argv: ['run', 'adopt', 'one'],
    exchanges: [],
  },
  {
    ...program,
    name: 'run report',
    files: { ...image, 'reports/older.txt': '' },
    before: [['run', '--yes']],
    provides: imaged,
    argv: ['run', 'report', '--format', 'html,markdown,json', '-o', 'reports/'],
    exchanges: [],
  },
  {
    ...program,
    name: 'run clean',
    files: image,
    before: [
      ['run', '--yes'],
      ['run', '--yes', '--regenerate', 'one'],
    ],
    provides: imaged,
    argv: ['run', 'clean', '--yes'],
    exchanges: [],
  },
]

/** With so many calls to the system that only some of them are tried. */
export const longCalls: readonly Call[] = [
  {
    ...program,
    name: 'run, one that needs another',
    files: { 'modelgate.yaml': chain },
    argv: ['run', '--yes'],
    exchanges: [...generated, ...imaged, ...edited, ...filmed],
  },
]
