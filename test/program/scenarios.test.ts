import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import type { ErrorDocument } from '../../src/events/documents.ts'
import { canaryKey } from '../support/canary-key.ts'
import { localServer } from '../support/local-server.ts'
import { readAll, sse, stall, text, type ServerReply } from '../support/server-replies.ts'
import { startProgram, type RunningProgram } from './start-program.ts'
import { textStyles, type TextStyle } from './text-styles.ts'

/** One end of a text call, and all that a user or a script sees of it; more of them are the rows of test/faults. */
interface Scenario {
  readonly name: string
  readonly flags?: readonly string[]
  readonly reply: (style: TextStyle) => ServerReply
  /** When the signal comes, for those that end by one. */
  readonly until?: (run: RunningProgram, isAsked: () => boolean, asJson: boolean) => boolean
  readonly exit: number
  /** All of standard output; nothing unless told. */
  readonly stdout?: string
  /** What the one message says of the problem. */
  readonly says?: RegExp
  /** A part of what else is on standard error. */
  readonly adds?: string
  /** What the error object of `--json` holds, besides exit code and message. */
  readonly error?: Partial<ErrorDocument['error']>
}

const person = ['--schema', '{"type":"object","required":["name"]}']
const paid = { phase: 'result', billed: 'yes' } as const
const signals = { 129: 'hangup', 130: 'interrupt', 143: 'terminate' } as const
const inStream = (exit: keyof typeof signals, says: RegExp): Scenario => ({
  name: `${signals[exit]} in the middle of the stream`,
  reply: ({ delta }) => sse([delta('Hello, ')], { ending: 'stall' }),
  until: ({ context, clock }, _, asJson) =>
    clock.asked.includes(300_000 / 4) && (asJson || context.stdout.text !== ''),
  exit,
  stdout: 'Hello, \n',
  says,
  adds: 'The request may have been billed.',
  error: { code: 'interrupted', phase: 'stream', billed: 'maybe' },
})

const scenarios: readonly Scenario[] = [
  {
    name: 'the answer matches the schema',
    flags: person,
    reply: ({ delta, end }) => sse([delta('{"name":'), delta('"Ada"}'), end]),
    exit: 0,
    stdout: '{"name":"Ada"}\n',
  },
  {
    name: 'the token limit with --strict',
    flags: ['--strict'],
    reply: ({ delta, endAtLimit }) => sse([delta('Hel'), endAtLimit]),
    exit: 9,
    stdout: 'Hel\n',
    says: /The answer was cut short by the token limit\./,
    error: { code: 'finish_length', ...paid },
  },
  {
    name: 'an answer that does not match the schema',
    flags: person,
    reply: ({ delta, end }) => sse([delta('{"age":'), delta('36}'), end]),
    exit: 14,
    stdout: '{"age":36}\n',
    says: /name/,
    error: paid,
  },
  {
    name: 'the stream breaks off while a file is being written',
    flags: ['-o', 'answer.txt'],
    reply: ({ delta }) => sse([delta('Hello, ')], { ending: 'reset' }),
    exit: 7,
    stdout: 'Hello, \n',
    says: /before the answer was complete/,
    adds: 'answer.txt was not finished; the text that arrived is on standard output',
    error: { code: 'connection_lost', phase: 'stream', billed: 'maybe' },
  },
  {
    name: 'no space for the output file',
    flags: ['-o', '/dev/full'],
    reply: ({ delta, end }) => sse([delta('Hel'), delta('lo.'), end]),
    exit: 10,
    stdout: 'Hello.\n',
    says: /"\/dev\/full" cannot be written: there is no space left\./,
    error: { code: 'no_space', phase: 'output' },
  },
  inStream(129, /Hung up\./),
  inStream(130, /Stopped\./),
  inStream(143, /Terminated\./),
  {
    name: 'interrupt before the headers',
    reply: () => [readAll, stall],
    until: (_, isAsked) => isAsked(),
    exit: 130,
    says: /Stopped\./,
    adds: 'The request may have been billed.',
    error: { code: 'interrupted', phase: 'wait', billed: 'maybe' },
  },
  ...([429, 500] as const).map((status): Scenario => ({
    name: `interrupt while waiting to ask again after ${status}`,
    reply: () => text('Busy.', { status, headers: { 'retry-after': '90' } }),
    until: ({ clock }) => clock.asked.includes(90_000),
    exit: 130,
    says: /Stopped\./,
    error: { code: 'interrupted', billed: status === 429 ? 'no' : 'maybe' },
  })),
]

/** Runs the program on a gateway that replies once. */
async function run(
  { flags = [], reply, until, exit }: Scenario,
  style: TextStyle,
  mode: readonly string[] = [],
) {
  const server = await localServer([reply(style)])
  const words = [style.name, '-m', 'some-model', '--base-url', server.url, ...flags, 'Say hello.', ...mode]
  const program = startProgram(words, { env: { MODELGATE_API_KEY: canaryKey() } })
  if (until !== undefined) {
    const isAsked = () => server.requests[0]?.complete === true
    await program.until(() => until(program, isAsked, mode.length > 0))
    program.context.abort(new Interrupted(signals[exit as keyof typeof signals]))
  }
  expect(await program.exitCode).toBe(exit)
  expect(server.requests.map(({ line }) => line)).toEqual([style.requestLine])
  return { out: program.context.stdout.text, err: program.context.stderr.text }
}

const cases = Object.values(textStyles).flatMap((style) =>
  scenarios.map((scenario) => [`${scenario.exit} ${style.name}: ${scenario.name}`, scenario, style] as const),
)

test.each(cases)('%s, in words, as JSON, and as JSON lines', async (_, scenario, style) => {
  const { exit, stdout = '', says = /^$/, adds = '', error } = scenario
  const { out, err } = await run(scenario, style)
  const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect([out, problems.length]).toEqual([stdout, exit === 0 ? 0 : 1])
  expect(problems.join()).toMatch(says)
  expect(err).toContain(adds)

  const asJson = await run(scenario, style, ['--json'])
  const documents = asJson.err.split('\n').filter((line) => line.startsWith('{'))
  expect([asJson.out === '', documents.length]).toEqual(exit === 0 ? [false, 0] : [true, 1])
  const failure = { exit_code: exit, message: expect.stringMatching(says), ...error }
  const document = JSON.parse(documents[0] ?? asJson.out)
  expect(document).toMatchObject(exit === 0 ? { version: 1 } : { error: failure })

  const lines = (await run(scenario, style, ['--jsonl'])).out.trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line) as { type: string; text?: string })
  const words = events.map(({ type, text: part }) => (type === 'text-delta' ? part : '')).join('')
  expect([events[0]!.type, words]).toEqual(['start', stdout.replace(/\n$/, '')])
  const last =
    exit === 0 ? { type: 'end', text: words } : { type: 'error', error: { exit_code: exit, ...error } }
  expect(events.at(-1)).toMatchObject(last)
})
