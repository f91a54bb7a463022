import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import type { Clock } from '../../../src/context.ts'
import { Interrupted } from '../../../src/errors.ts'
import type { HelpCommand } from '../../../src/events/help-document.ts'
import { main } from '../../../src/main.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { closedPort } from '../../support/local-server.ts'
import { programCommands } from '../../support/program-tree.ts'
import { writeFiles } from '../../support/temporary-folder.ts'
import { maskPng } from '../../support/test-images.ts'
import { testContext } from '../../support/test-context.ts'
import { changed, changes } from '../arbitraries.ts'
import { goldenCalls, goldenReplies, play, serve } from '../golden-replies.ts'
import { target } from '../target.ts'

const all = await programCommands()
/** Every command that does something itself. */
const commands = all.filter((one) => one.commands.length === 0 || one.arguments.length > 0)

/** No absolute path is among them, and none that leads further up than the home of the run. */
const files = 'a.png a.yaml data.csv deep/a.txt ../a.txt gone.json - . @a.txt @gone'.split(' ')
const values = [
  ['', ' ', '0', '-1', '1', '2', '1e9', '1e999', 'NaN', '1.5', '0x10', 'true', 'null', '9'.repeat(400)],
  ['{}', '[]', '{', '"', '{"a":1}', '{"__proto__":{"polluted":1}}', '[[[[', '{"type":"object"}'],
  ['a=b', 'a.b=1'],
  ['__proto__', 'constructor', '__proto__.polluted=1', 'constructor.prototype.polluted=1', 'toString'],
  ['\u0000', '\u001b[2J', '\u202e', '\ud800', '😀', 'x'.repeat(5_000), '%s%n', '${id}', '$(id)', '`id`'],
  ['http://127.0.0.1:1', 'https://user:pass@host', 'data:,x', 'gpt-image-2', 'models/x'],
  ['models/../x', '1024x1024'],
  ['--', '-', '---', '-o', '--json', '--help', '--version', '--sandbox', 'sandbox:fewer', 'sandbox:refuse'],
].flat()
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...values) },
  { weight: 3, arbitrary: fc.constantFrom(...files) },
  { weight: 2, arbitrary: fc.string().map((text) => text.replaceAll(/[/\\~]/g, '_')) },
)

/** A flag of the command, with a value that it knows or any other; or a word. */
function wordsFor(command: HelpCommand): fc.Arbitrary<string[]> {
  const known = [...command.options, ...all[0]!.options].flatMap((option) =>
    [option.flag, option.short ?? []].flat().map((name) => ({ name, taken: option.value })),
  )
  const common = ['-h', '--help', '-V', '--version'].map((name) => ({ name, taken: null }))
  const flag = fc.constantFrom(...known, ...common).chain(({ name, taken }) => {
    const alone = fc.constant([name])
    if (taken === null) return alone
    const words = taken.values ?? []
    const right = words.length === 0 ? value : fc.oneof(fc.constantFrom(...words), value)
    const pair = right.map((text) => [name, text])
    return fc.oneof(name.startsWith('--') ? right.map((text) => [`${name}=${text}`]) : pair, pair, alone)
  })
  const word = fc
    .oneof(
      value,
      fc.constantFrom('Hi', 'A hill', '1', ...command.arguments.flatMap((argument) => argument.values ?? [])),
    )
    .map((text) => [text])
  return fc
    .array(fc.oneof({ weight: 3, arbitrary: flag }, word), { maxLength: 6 })
    .map((parts) => parts.flat())
}

const argumentVector = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .constantFrom(...commands)
      .chain((command) => wordsFor(command).map((words) => [...command.name.split(' '), ...words])),
  },
  { weight: 1, arbitrary: fc.array(value, { maxLength: 5 }) },
)

const port = closedPort()
const picture = await maskPng(64)

const program = target({
  name: 'arguments',
  promises: 'any words on a command line end in a documented exit code that is no bug, without a stack trace',
  cost: 'dear',
  input: fc.record({
    argv: argumentVector,
    stdin: fc.constantFrom('', 'Hi', '{"a":1}', '\u0000\u00ff', '\ufeff'),
    isTerminal: fc.boolean(),
    sandbox: fc.boolean(),
  }),
  async check({ argv, stdin, isTerminal, sandbox }, folder) {
    const isOffline = /^(config|auth|log)/.test(argv[0] ?? '')
    const words = sandbox && !isOffline ? [...argv, '--sandbox'] : argv
    await callProgram({ argv: words, stdin, isTerminal }, folder, `http://127.0.0.1:${await port}`)
  },
})

interface ProgramCall {
  readonly argv: readonly string[]
  readonly stdin: string
  readonly isTerminal: boolean
}

/** Runs the whole program, and checks what holds for every call. */
async function callProgram({ argv, stdin, isTerminal }: ProgramCall, home: string, gateway: string) {
  const cwd = join(home, 'project')
  const manifest = 'version: 1\njobs: {}\n'
  writeFiles(cwd, { 'a.txt': 'Hi', 'data.csv': 'id\na\n', 'a.yaml': manifest, 'a.png': picture })
  const context = testContext({
    home,
    cwd,
    stdin,
    terminal: isTerminal,
    clock: impatientClock(),
    env: {
      MODELGATE_BASE_URL: gateway,
      MODELGATE_API_KEY: 'key-0123456789',
      MODELGATE_STATE_DIR: join(home, 'state'),
      MODELGATE_CONFIG_DIR: join(home, 'config'),
    },
  })
  // What only a signal ends gets one when it has begun.
  const stop = setInterval(() => context.abort(new Interrupted('interrupt')), 2_000)
  const code = await main(argv, context).finally(() => clearInterval(stop))
  const told = `${JSON.stringify(argv)} ended with ${code}:\n${context.stderr.text}`
  assert.ok(exitCodes.has(code), told)
  if (!argv.includes('--debug')) assert.ok(!/^\s+at .+:\d+:\d+\)?$/m.test(context.stderr.text), told)
  const left = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
  const parts = left.filter((name) => name.endsWith('.mgpart'))
  assert.deepEqual(parts, [], told)
}

/** Those of docs/exit-codes.md but 1, which is a bug. */
const exitCodes = new Set([0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 129, 130, 143])

/** A clock on which every pause is over at once, and no limit is ever reached. */
function impatientClock() {
  const clock = fakeClock()
  const timer: Clock['timer'] = (ms, callback, label) => {
    if (label !== 'sleep') return clock.timer(ms, callback, label)
    const immediate = setImmediate(callback)
    return { cancel: () => clearImmediate(immediate) }
  }
  return { ...clock, timer }
}

const replyWords = [
  ['{', '}', '[', ']', '"', ',', ':', '\\', '\n', '\n\n', 'data: ', 'data: [DONE]\n\n'],
  ['event: error\n', '<html>'],
  ['"__proto__":{"polluted":1},', '"constructor":{"prototype":{"polluted":1}},'],
  ['"error":{"message":"No."},'],
  ['null', 'true', '-1', '0', '1e999', '"x"', '[]', '{}', '\u0000', '\u001b]0;x\u0007', '\u202e'],
  ['\\ud800', '😀', 'é'],
  ['"status":"failed",', '"status":"what",', '"type":"error",', '"url":"http://10.0.0.1/a",'],
  ['"url":"file:///a",'],
  ['"id":"../../x",', '"b64_json":"AAAA",', '"index":1e9,', '"output_index":-1,', '"progress":-5,'],
  ['"data":[],'],
].flat()

/** What the sandbox answers to each call, asked for once. */
const goldens: Record<string, ReturnType<typeof goldenReplies>> = {}

const changedReplies = target({
  name: 'changed-replies',
  promises:
    'a reply that is changed anywhere ends in a documented exit code that is no bug, and leaves nothing half',
  cost: 'dear',
  input: fc.record({
    name: fc.constantFrom(...Object.keys(goldenCalls)),
    which: fc.nat(3),
    list: fc.oneof({ weight: 9, arbitrary: changes(replyWords) }, fc.constant([])),
    status: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      fc.constantFrom(201, 202, 204, 206, 302, 304, 400, 401, 404, 418, 429, 500, 503),
    ),
    isTerminal: fc.boolean(),
  }),
  async check({ name, which, list, status, isTerminal }, folder) {
    const call = { argv: goldenCalls[name]!, stdin: '', isTerminal }
    const replies = await (goldens[name] ??= goldenReplies((url) => callProgram(call, folder, url)))
    const at = which % replies.length
    const golden = replies[at]!
    const other = { ...golden, status: status ?? golden.status, body: changed(golden.body, list) }
    let asked = 0
    // What is asked for once more is not there: else a job would be looked up for ever.
    const server = await serve((_, __, response) =>
      play(replies.with(at, other)[asked++] ?? gone, server.url, response),
    )
    try {
      await callProgram(call, folder, server.url)
    } finally {
      await server.close()
    }
  },
})

const gone = { status: 404, type: 'application/json', body: Buffer.from('{"error":{"message":"Gone."}}') }

export const programTargets = [program, changedReplies]
