import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { typedTerminal } from '../support/question-terminal.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { echoMachine, spellings, type Failure } from './echo-gateway.ts'
import { sample } from '../support/sample.ts'

const image = 'image create -m gpt-image-2 boat'
const edit = 'image edit -m gpt-image-2 --image in.png boat'
const film = 'video generate -m veo --poll-interval 1 boat'

/** Commands, each in the modes that it has; several are run one after the other on the same machine. */
const groups: readonly [
  commands: readonly string[],
  modes: readonly string[],
  failures: readonly Failure[],
][] = [
  [
    ['generate -m some hello', 'respond -m some hello', 'respond -m some --no-stream hello'],
    ['', '--json', '--jsonl', '--raw', '--debug', '--usage -o answer.txt', '--dry-run', '--curl'],
    ['none', 'failed', 'refused'],
  ],
  [
    ['generate -m some hello', 'log', 'log show'],
    ['', '--json', '--jsonl'],
    ['none', 'failed', 'refused'],
  ],
  [
    [image, edit, `${image} --stream`],
    ['', '--json', '--jsonl', '--raw', '--debug', '--sidecar', '-o {id}-{index}.{ext} --sidecar', '--curl'],
    ['none', 'failed', 'refused', 'urls'],
  ],
  [[image], ['--no-download', '--no-download --json', '--no-download --jsonl'], ['urls']],
  [
    [`${film} --wait`, 'video remix --no-check -m sora-2 video_123456 --wait night', 'video status --last'],
    ['', '--json', '--jsonl', '--raw', '--debug', '-o {id}-{slug}.{ext}', '--dry-run', '--curl'],
    ['none', 'failed', 'refused'],
  ],
  [
    [`${film} --no-wait`, 'jobs', 'wait --last', 'jobs --refresh'],
    ['', '--json', '--jsonl', '--debug'],
    ['none', 'failed'],
  ],
  [
    [
      'generate -m some --conversation-file talk.yaml hello',
      'generate -m some --conversation-file talk.yaml more',
      'generate -m some --conversation-file talk.json hello',
      'generate -m some --conversation-file talk.json more',
      'respond -m some --conversation-file other.yaml hello',
      'respond -m some --conversation-file other.yaml --no-store more',
      'respond -m some -c more',
      'generate -m some -c more',
    ],
    ['', '--json', '--jsonl'],
    ['none', 'failed'],
  ],
  [
    ['respond -m some --background hello', 'wait resp_1', 'cancel resp_1'],
    ['', '--json', '--jsonl', '--debug'],
    ['none', 'failed', 'refused'],
  ],
  [
    [`${image} --sidecar -o out.png`, 'inspect out.png', 'usage', 'models'],
    ['--debug', '--json'],
    ['none', 'refused'],
  ],
  [
    ['chat -m some hello', 'chat -m some --style generate --conversation-file talk.json hello'],
    ['', '--debug', '--usage'],
    ['none', 'failed', 'refused'],
  ],
  [
    ['init --yes', 'init --yes --no-check --text-model some'],
    ['', '--json', '--debug'],
    ['none', 'failed', 'refused'],
  ],
  [
    ['auth status --check', 'doctor', 'config list'],
    ['', '--json'],
    ['none', 'refused'],
  ],
]

const cases = groups
  .flatMap(([commands, modes, failures]) =>
    failures.flatMap((failure) => modes.map((mode) => ({ commands, mode, failure }))),
  )
  .map((one, at) => ({ ...one, at }))

/** A look at the last job asks for nothing where none was started, or it got no id, and it writes no file. */
const isNothingToLookUp = (command: string, mode: string, failure: Failure) =>
  command === 'video status --last' && (failure === 'refused' || /^(--dry-run|--curl|-o\b.*)$/.test(mode))

/** An answer may call a function, whose result nobody gives. */
const isGoneOnWith = (command: string) => command.endsWith(' more')

const spelt = cases.flatMap((one) =>
  Object.keys(spellings).map((spelling, index) => ({ ...one, spelling, index })),
)
const nameOf = ({ commands, mode, failure, spelling }: (typeof spelt)[number]) =>
  [...commands, mode, failure, spelling].join()

test.each(sample(spelt, 0.02, nameOf))(
  '$commands $mode of a gateway that gives back the key: $failure, $spelling',
  async ({ commands, mode, failure, at, spelling, index }) => {
    const key = canaryKey()
    const keyFolder = temporaryFolder()
    writeFiles(keyFolder, { key })
    const env = at % 2 === 0 ? { MODELGATE_API_KEY: key } : { MODELGATE_API_KEY_FILE: join(keyFolder, 'key') }
    const { home, run } = await echoMachine(spellings[spelling]!, failure, { env })
    const terminal = (index + (at >> 1)) % 2 === 1
    for (const command of commands) {
      const argv = `${command} ${mode}`.trim().split(' ')
      const typed = argv[0] === 'chat' && typedTerminal('And more\r/save all.yaml\r/save last.md\r/exit\r')
      const { code, out, err } = await run(argv, { terminal, ...typed })
      const possible = isNothingToLookUp(command, mode, failure) ? [2] : [0, 4, 5, 8, 9, 10, 12]
      if (isGoneOnWith(command)) possible.push(2)
      expect(err.text).not.toContain('not valid YAML')
      expect(possible, `exit code of ${argv.join(' ')}: ${err.text}`).toContain(code)
      expectNoKey(`standard output of ${argv.join(' ')}`, out.bytes, key)
      expectNoKey(`standard error of ${argv.join(' ')}`, err.bytes, key)
      for (const text of [joinedText(out.text), joinedText(err.text)]) {
        expectNoKey(`the joined pieces of ${argv.join(' ')}`, text, key)
      }
    }
    expectNoKeyBelow(home, key)
    expect(worldReadable(home)).toEqual([])
  },
)

/** The pieces of texts put together as a reader would: those of JSON lines, and words between colours. */
function joinedText(text: string): string {
  const pieces = text.split('\n').map((line) => {
    try {
      const { delta, text: words } = JSON.parse(line) as { delta?: unknown; text?: unknown }
      return [delta, words].filter((piece) => typeof piece === 'string').join('')
    } catch {
      return line.replaceAll(/\u001b\[\d*m/g, '')
    }
  })
  return pieces.join('')
}

/** Records and side files that others may read: they hold prompts and ids. */
function worldReadable(home: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.jsonl?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0)
}
