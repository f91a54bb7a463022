import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { canaryKey } from '../support/canary-key.ts'
import { typedTerminal } from '../support/question-terminal.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { echoMachine, type Failure } from './echo-gateway.ts'

/**
 * Where a prompt may be besides the request and the files of the user, as docs/log.md has it: `WORDS > PLACE`, with a file
 * by its path below the home directory.
 */
const places: readonly RegExp[] = [
  // What is asked for.
  /--(?:dry-run|curl) > standard output$/,
  /^(?:log|jobs).* > standard output$/,
  /--conversation-file talk\.yaml.* > work\/talk\.yaml$/,
  // `/save talk.yaml`.
  /^chat .* > work\/talk\.yaml$/,
  /^image .*--sidecar > work\/[\w-]+\.png\.json$/,
  /^run report .* > work\/report\.(?:html|json)$/,
  // What the program keeps by itself, besides the log, which is told how much it keeps: the records of jobs.
  /^video .* > \.local\/state\/modelgate\/jobs\/[\w-]+\/[\w-]+\.json$/,
]

/** What `history: full` adds. */
const logged = [/\/calls\/words\/\w+\.json$/]

const text = 'generate -m some'
const image = 'image create -m gpt-image-2'
const edit = 'image edit -m gpt-image-2 --image in.png'
const film = 'video generate -m veo --poll-interval 1'
const remix = 'video remix --no-check -m sora-2 video_123456'

/** Commands that are run one after the other on the same machine, each in these modes. */
const groups: readonly (readonly [commands: readonly string[], modes: readonly string[]])[] = [
  [
    [`${text} PROMPT`, 'respond -m some PROMPT', 'log', 'log show'],
    ['', '--json', '--jsonl'],
  ],
  [
    [`${text} PROMPT`, 'respond -m some PROMPT', 'respond -m some --no-stream PROMPT'],
    ['--raw', '--debug', '--usage -o answer.txt', '--dry-run', '--curl'],
  ],
  [
    [`${image} PROMPT`, `${edit} PROMPT`, `${image} --stream PROMPT`],
    ['', '--json', '--jsonl', '--raw', '--debug', '--sidecar', '--dry-run', '--curl'],
  ],
  [
    [`${film} --wait PROMPT`, 'jobs', `${remix} --wait PROMPT`],
    ['', '--json', '--jsonl', '--debug'],
  ],
  [
    [`${text} --conversation-file talk.yaml PROMPT`, `${text} -c PROMPT`],
    ['', '--json', '--debug'],
  ],
  [
    ['chat -m some PROMPT', 'chat -m some --style generate'],
    ['', '--debug'],
  ],
  [
    ['run --generate', 'run --plan', 'run --check', 'run report --format html,markdown,json', 'run clean'],
    [''],
  ],
]

const failures: readonly Failure[] = ['none', 'failed', 'refused', 'urls']

const cases = groups
  .flatMap(([commands, modes]) => modes.map((mode) => ({ commands, mode })))
  .flatMap((one, at) => {
    // Each mode with two of the four ways in which a gateway answers, one of them with a full log.
    const [first, second] = [failures[at % 4]!, failures[(at + 1 + (at >> 2)) % 4]!]
    return [
      { ...one, failure: first, history: 'full' },
      { ...one, failure: second, history: 'metadata' },
    ]
  })

const manifest = (prompt: string) => `version: 1
jobs:
  hero:
    image create: { model: gpt-image-2, prompt: '${prompt}' }
    out: hero.png
  note:
    generate: { model: some, prompt: '${prompt}' }
    out: note.txt
  film:
    video generate: { model: veo, prompt: '${prompt}' }
    out: film.mp4
`

test.each(cases)(
  'a prompt is only where it is said to be: $commands $mode, of a gateway that is $failure, history $history',
  async ({ commands, mode, failure, history }) => {
    const canary = `q${randomBytes(12).toString('hex')}`
    // The first words of a prompt become names of files.
    const prompt = `A boat on a long and quiet river near the old town, in the evening of a summer, ${canary}`
    const env = { MODELGATE_API_KEY: canaryKey(), MODELGATE_HISTORY: history }
    const { home, cwd, run } = await echoMachine(() => 'nothing', failure, { env })
    writeFiles(cwd, { 'modelgate.yaml': manifest(prompt) })
    const known = new Set(['work/modelgate.yaml'])
    const found: string[] = []
    for (const command of commands) {
      const words = `${command} ${mode}`.trim()
      const argv = words.split(' ').map((word) => (word === 'PROMPT' ? prompt : word))
      const typed = argv[0] === 'chat' && typedTerminal(`${prompt}\r/save talk.yaml\r/exit\r`)
      const { out, err } = await run(argv, { ...typed })
      if (out.text.includes(canary)) found.push(`${words} > standard output`)
      if (err.text.includes(canary)) found.push(`${words} > standard error`)
      for (const path of filesWith(canary, home)) {
        if (!known.has(path)) found.push(`${words} > ${path}`)
        known.add(path)
      }
    }
    const allowed = history === 'full' ? [...places, ...logged] : places
    expect(found.filter((one) => !allowed.some((place) => place.test(one)))).toEqual([])
  },
)

/** Files that have the text in them, or in their names, by their paths. */
function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .filter(
      ({ entry, path }) => entry.name.includes(text) || (entry.isFile() && readFileSync(path).includes(text)),
    )
    .map(({ path }) => relative(folder, path))
}
