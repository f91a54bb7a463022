import { calls, line, type Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'

/** Calls that write files, and send nothing or what others of the table send, too. */

function called(name: string): Call {
  const found = calls.find((call) => call.name === name)
  if (found === undefined) throw new Error(`There is no call ${JSON.stringify(name)}.`)
  return found
}

const generated = called('generate').exchanges
const responded = called('respond').exchanges
const imaged = called('image create').exchanges
const edited = called('image edit').exchanges
const filmed = called('video generate --wait').exchanges

const program = { how: 'program', leaves: { stdout: '', files: {} } } as const
const call = (
  name: string,
  words: string,
  exchanges: readonly Exchange[],
  more: Partial<Call> = {},
): Call => ({ ...program, name, argv: line(words), exchanges, ...more })
const picture = called('image edit').files!['in.png']!
const image = { 'modelgate.yaml': called('run, an image').files!['modelgate.yaml']! }
const hello = line('generate -m some-model "Say hello."')

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
  call('generate --json', 'generate --json -m some-model "Say hello."', generated),
  call(
    'respond --conversation-file, a new one',
    'respond -m some-model --conversation-file talk.yaml "Say hello."',
    responded,
  ),
  call(
    'respond --conversation-file, once more',
    'respond -m some-model --conversation-file talk.yaml "And again."',
    responded,
    { before: [line('respond -m some-model --conversation-file talk.yaml "Say hello."')] },
  ),
  call('chat, which is saved', 'chat -m some-model --render never "Say hello."', responded, {
    how: 'chat',
    typed: '/save talk.yaml\r/save answer.md\r/exit\r',
  }),
  call(
    'image create --json, over an older file',
    'image create --json --force -m gpt-image-2 -o x.png "A boat"',
    imaged,
    { files: { 'x.png': 'old' } },
  ),
  call('image create --sidecar', 'image create --sidecar -m gpt-image-2 -o x.png "A boat"', imaged),
  call('log', 'log', [], { before: [hello], provides: generated }),
  call('log clear', 'log clear --force', [], { before: [hello], provides: generated }),
  call('usage', 'usage', [], { before: [hello], provides: generated }),
  call('inspect', 'inspect in.png', [], { files: { 'in.png': picture } }),
  call('config set', 'config set text_model some-model', []),
  call('config set, once more', 'config set image_model gpt-image-2', [], {
    before: [line('config set text_model some-model')],
  }),
  call('run --shard', 'run --yes --shard 1/1', imaged, { files: image }),
  call('run merge', 'run merge .modelgate/parts/1-of-1', [], {
    files: image,
    before: [line('run --yes --shard 1/1')],
    provides: imaged,
  }),
  call('run pick', 'run pick one 2', [], {
    files: { 'modelgate.yaml': variants },
    before: [line('run --yes')],
    provides: imaged,
  }),
  call('run adopt', 'run adopt one', [], { files: { ...image, 'x.png': picture } }),
  call('run report', 'run report --format html,markdown,json -o reports/', [], {
    files: { ...image, 'reports/older.txt': '' },
    before: [line('run --yes')],
    provides: imaged,
  }),
  call('run clean', 'run clean --yes', [], {
    files: image,
    before: [
      ['run', '--yes'],
      ['run', '--yes', '--regenerate', 'one'],
    ],
    provides: imaged,
  }),
]

/** With so many calls to the system that only some of them are tried. */
export const longCalls: readonly Call[] = [
  call('run, one that needs another', 'run --yes', [...generated, ...imaged, ...edited, ...filmed], {
    files: { 'modelgate.yaml': chain },
  }),
]
