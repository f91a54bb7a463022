import { describe, expect, test } from 'vitest'
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Command } from 'commander'
import { generateExamples } from '../../src/commands/generate.ts'
import { respondExamples } from '../../src/commands/respond.ts'
import { exitCodes } from '../../src/errors.ts'
import { aboutCommand, commandModules } from '../../src/command-entries.ts'
import { environmentRows, terminalVariables, topics } from '../../src/commands/help/topics.ts'
import { outputSchemas } from '../../src/events/documents.ts'
import type { HelpDocument, HelpOption } from '../../src/events/help-document.ts'
import { manifestSchema } from '../../src/pipeline/manifest/manifest-schema.ts'
import { recordCall } from '../support/call-records.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { configured, wholeCall } from '../support/text-call.ts'
import { loadedProgram } from '../support/program-tree.ts'
import { projectRoot } from '../support/generated-files.ts'

const commandNames = Object.keys(aboutCommand).filter((name) => !name.includes(' '))
const calls = [
  '--help',
  'help',
  'image',
  'video',
  'video help generate',
  ...Object.keys(commandModules).flatMap((name) => (name === 'schema' ? [] : [`${name} --help`])),
]

test.each(calls)('modelgate %s has examples, fits its columns, and 50 lines of 80', async (call) => {
  for (const columns of [20, 40, 80, 200]) {
    const { code, out, err } = await runMain(call.split(' '), { columns })
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Examples:\n[^]*^ {2}\$ modelgate\s/m)
    expect(out).not.toMatch(/[ \t]\n|\n\n\n/)
    // A line of one word alone cannot be broken, or of one quoted argument; in 20 columns there are many.
    const tooLong = out
      .split('\n')
      .filter((line) => line.length > columns && /\S\s+[^\s"]/.test(line.replaceAll(/"[^"]*"/g, 'x')))
    expect(columns < 40 ? [] : tooLong).toEqual([])
    if (columns < 80 || !call.includes(' ')) continue
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(50)
  }
})

test('alone, modelgate prints one screen: what it is, what to do first, its commands', async () => {
  const { code, out, err } = await runMain([], { columns: 80 })
  expect([code, err]).toEqual([0, ''])
  const lines = out.split('\n')
  expect(lines.length).toBeLessThanOrEqual(25)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  const start = 'One program for a gateway to hosted generative models.'
  for (const text of [start, 'modelgate respond --sandbox "hello"', 'modelgate init'])
    expect(out).toContain(text)
  for (const name of commandNames) expect(out).toMatch(new RegExp(`^ {2}.*\\b${name}\\b`, 'm'))
})

test.each([['generate'], ['image', 'create'], ['video', 'status']])(
  '%s %s shows three examples and no common options, and says how to see the rest',
  async (...words) => {
    const { out } = await runMain([...words, '--help'], { columns: 200 })
    expect(out.match(/^ {2}\$ /gm)).toHaveLength(3)
    expect(out).toContain('  --json ')
    expect(out).not.toContain('--base-url')
    const all = `modelgate ${words.join(' ')} --help --all`
    expect(out.trimEnd().split('\n').at(-1)).toBe(`All options: ${all}`)
    const { out: whole } = await runMain([...words, '--help', '--all'], { columns: 200 })
    expect(whole).toContain('  --base-url <url> ')
    expect(whole.match(/^ {2}\$ /gm)!.length).toBeGreaterThan(3)
    expect(whole).not.toContain('--help --all')
    expect((await runMain(['help', ...words, '--all'], { columns: 200 })).out).toBe(whole)
  },
)

test('the fields of a request are in the order of use', async () => {
  const flagsIn = async (words: string) =>
    [...(await runMain(words.split(' '))).out.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm)].map(([, name]) => name)
  expect((await flagsIn('image create --help')).join(' ')).toContain('size quality n ')
  expect(await flagsIn('respond --help')).not.toContain('reasoning')
})

test.each(['--help', 'image create --help', 'help money', '', 'image'])(
  '%j has bold headings on a terminal, and the same text without',
  async (words) => {
    const argv = words.split(' ').filter(Boolean)
    const { out } = await runMain(argv, { terminal: true })
    const { out: plain } = await runMain(argv, { env: { FORCE_COLOR: '1' } })
    expect([out, out]).toEqual([expect.stringContaining('\u001b[1m'), expect.stringContaining('\u001b[36m')])
    expect(out.replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
    expect(plain).not.toContain('\u001b')
  },
)

test.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }])(
  '%j turns colours off',
  async (env) => {
    expect((await runMain(['--help'], { terminal: true, env })).out).not.toContain('\u001b')
  },
)

test('help COMMAND is the same as COMMAND --help', async () => {
  expect(await runMain(['help'])).toEqual(await runMain(['--help']))
  for (const name of commandNames) {
    // What the sandbox is takes more than its flags.
    if (name === 'sandbox') continue
    expect(await runMain(['help', name])).toEqual(await runMain([name, '--help']))
  }
})

test.each([
  ['help video stauts', 'There is no help on "video stauts". Did you mean status?'],
  ['help generate text', 'There is no help on "generate text".'],
  ['help environment CI', 'There is no help on "environment CI".'],
  ['help exitcodes', 'There is no help on "exitcodes". Did you mean exit-codes?'],
  ['help zzzzzzzzz', 'There is no help on "zzzzzzzzz".'],
  ['help constructor', 'There is no help on "constructor".'],
  ['vidoe --help', "unknown command 'vidoe' (Did you mean video?)"],
  ['video stauts --help', "unknown command 'stauts' (Did you mean status?)"],
])('%s gives no help on something else', async (call, message) => {
  const err = expect.stringContaining(`modelgate: ${message}\n`) as string
  expect(await runMain(call.split(' '))).toMatchObject({ code: 2, out: '', err })
})

test.each([
  ['jobs', ['--model', '--output', '--force', '--strict', '--curl'], ['--json', '--dry-run']],
  ['video status', ['--model', '--body', '--usage'], ['--strict', '--output', '--json']],
  ['wait', ['--model', '--body', '--usage'], ['--strict', '--output', '--json']],
])('the help of %s names no option that it refuses', async (name, refused, taken) => {
  const words = name.split(' ')
  const { out } = await runMain([...words, '--help', '--all'])
  expect([...refused, ...taken].filter((flag) => new RegExp(`^ .*${flag}\\b`, 'm').test(out))).toEqual(taken)
  for (const flag of refused) {
    const value = /model|output|body/.test(flag) ? ['x'] : []
    const { code, err } = await runMain([...words, flag, ...value])
    expect([code, err]).toEqual([2, expect.stringContaining(`unknown option '${flag}'`)])
  }
})

test('help exit-codes lists every code', async () => {
  const { out } = await runMain(['help', 'exit-codes'])
  const listed = [...out.matchAll(/^ +(\d+) {2}/gm)].map(([, code]) => Number(code))
  expect(listed).toEqual(Object.values(exitCodes).map(({ code }) => code))
})

/** The words of an example, as a shell would split them; what stands before a pipe is left out. */
function wordsOf(line: string): string[] {
  const call = line.split('|').find((part) => part.trim().startsWith('modelgate'))!
  const words = call.trim().match(/(?:"[^"]*"|\S)+/g)!
  return words.slice(1).map((word) => word.replaceAll('"', ''))
}

/** A call on record, for examples that continue the last exchange. */
const exchange = {
  arguments: [],
  origin: 'http://127.0.0.1:8080',
  model: 'MODEL',
  request: { model: 'MODEL', contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], input: 'Hi' },
  reply: { text: 'Hello' },
}

test.each([...generateExamples, ...respondExamples].map(([line]) => line))(
  'the example works: %s',
  async (line) => {
    const cwd = temporaryFolder()
    writeFiles(cwd, {
      'photo.jpg': Uint8Array.of(0xff, 0xd8, 0xff, 0xe0),
      'person.json': '{"type":"object"}',
      'chat.json': '[{"role":"user","parts":[{"text":"a"}]}]',
    })
    await recordCall(cwd, { ...exchange, command: wordsOf(line)[0]!, cwd })
    const stdin = line.includes('|') ? { stdin: 'piped' } : {}
    const env = { ...configured, MODELGATE_STATE_DIR: cwd, MODELGATE_HISTORY: 'full' }
    const { request } = await wholeCall(wordsOf(line), { cwd, env, ...stdin })
    expect(request.model).toBe('MODEL')
  },
)

async function helpJson(...words: string[]): Promise<HelpDocument> {
  const { code, out, err } = await runMain(['help', '--json', ...words])
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out) as HelpDocument
}

const whole = await helpJson()

function optionCalled(name: string, flag: string): HelpOption {
  const { options } = whole.commands.find((command) => command.name === name)!
  return options.find((option) => option.flag === flag)!
}

function paths(command: Command, words: readonly string[] = []): string[] {
  return [words.join(' '), ...command.commands.flatMap((child) => paths(child, [...words, child.name()]))]
}

describe('help --json', () => {
  test('is what its schema says, and no more', async () => {
    const closed = JSON.stringify(outputSchemas.output).replaceAll(
      '"type":"object",',
      '"type":"object","additionalProperties":false,',
    )
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
      JSON.parse(closed) as object,
    )
    expect([validate(whole), validate.errors]).toEqual([true, null])
  })

  test('has every command, and every option that a help shows', async () => {
    const program = await loadedProgram()
    expect(whole.commands.map(({ name }) => name)).toEqual(paths(program))
    for (const { name, options } of whole.commands) {
      let command = program
      for (const word of name.split(' ').filter(Boolean))
        command = command.commands.find((one) => one.name() === word)!
      const shown = command.createHelp().visibleOptions(command)
      const flags = shown.map(({ long }) => long!).filter((flag) => flag !== '--help' && flag !== '--version')
      expect(options.map(({ flag }) => flag)).toEqual(expect.arrayContaining(flags))
    }
  })

  test.each([
    ['image', ['image', 'image create', 'image edit']],
    ['wait', ['wait']],
  ])('of %s has that and all below it', async (word, names) => {
    expect((await helpJson(word)).commands.map(({ name }) => name)).toEqual(names)
  })

  test.each<[string, string, object]>([
    ['image create', '--n', { short: '-n', value: { type: 'integer', max: 10 }, default: '1', field: 'n' }],
    ['respond', '--stream', { value: null, negation: '--no-stream' }],
    ['generate', '--schema', { conflicts: expect.arrayContaining(['--response-schema']) as string[] }],
    ['generate', '--attach', { short: '-a', repeatable: true, value: { type: 'path or url' } }],
    ['', '--json', { conflicts: ['--jsonl', '--raw'] }],
    ['respond', '--max-retries', { default: '2', settings: [{ environment: 'MODELGATE_MAX_RETRIES' }] }],
    ['jobs', '--state', { value: { values: expect.arrayContaining(['in_progress']) as string[] } }],
    ['image create', '--model', { settings: [{ environment: 'MODELGATE_IMAGE_MODEL' }] }],
    ['generate', '--function-calling-mode', { value: { values: ['AUTO', 'ANY', 'NONE', 'VALIDATED'] } }],
  ])('tells of %s what %s takes', (name, flag, facts) => {
    expect(optionCalled(name, flag)).toMatchObject(facts)
  })

  test('of what there is not is refused as JSON', async () => {
    const { code, out, err } = await runMain(['help', '--json', 'vidoe'])
    expect([code, out]).toEqual([2, ''])
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage' } })
  })
})

describe('topics', () => {
  test.each(Object.keys(topics))('%s fits its columns', async (name) => {
    for (const columns of [40, 80]) {
      const { out } = await runMain(['help', name], { columns })
      const tooLong = out.split('\n').filter((line) => line.length > columns && /\S\s+\S/.test(line.trim()))
      expect(tooLong).toEqual([])
      expect(out).toMatch(/^Examples:$/m)
      expect(out).not.toMatch(/[ \t]\n|\n\n\n|\n\n$/)
    }
  })

  test('name only commands and flags that there are', () => {
    // The codes are those of errors.ts.
    const { 'exit-codes': _, ...written } = topics
    const texts = Object.values(written).flatMap(({ blocks, examples }) => [
      ...Object.values(blocks).flatMap((block) => (typeof block === 'string' ? block : block.flat())),
      ...examples.map(([line]) => line),
    ])
    const all = texts.join('\n')
    const flags = new Set(whole.commands.flatMap(({ options }) => options.map(({ flag }) => flag)))
    const named = [...all.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag)
    expect(named.length).toBeGreaterThan(20)
    // A switch is kept under the name that turns it on or off.
    expect(named.filter((flag) => !flags.has(flag) && !flags.has(flag.replace('--no-', '--')))).toEqual([])
    const commands = new Set(whole.commands.map(({ name }) => name.split(' ')[0]))
    const called = [...all.matchAll(/modelgate ([a-z]+)/g)].map(([, name]) => name)
    expect(called.filter((name) => !commands.has(name))).toEqual([])
  })
})

test('help environment has every variable that the source reads', () => {
  const source = readdirSync(new URL('src/', projectRoot), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(new URL(`src/${path.replaceAll('\\', '/')}`, projectRoot), 'utf8'))
    .concat(readFileSync(new URL('bin/modelgate.js', projectRoot), 'utf8'))
    .join('\n')
  const read = new Set(
    [
      ...source.matchAll(/\benv(?:\.|\[')([A-Z][A-Z0-9_]+)/g),
      ...source.matchAll(/\bread\('([A-Z_]+)'\)/g),
      ...source.matchAll(/\b(MODELGATE_[A-Z_]+)\b/g),
    ].map(([, name]) => name!),
  )
  const rows = environmentRows().flatMap(([names]) => names.split(', '))
  const told = new Set([...rows.map((name) => name.replace(/=.*/, '')), ...terminalVariables])
  expect(read.size).toBeGreaterThan(30)
  expect([...read].filter((name) => !told.has(name))).toEqual([])
  expect(terminalVariables.filter((name) => !source.includes(name))).toEqual([])
})

test.each<[string, object]>([
  ['schema', outputSchemas.output],
  ['schema output', outputSchemas.output],
  ['schema events', outputSchemas.events],
  ['schema error', outputSchemas.error],
  ['schema manifest', manifestSchema()],
])('%s prints what programs are told', async (words, expected) => {
  expect(JSON.parse((await runMain(words.split(' '))).out)).toEqual(expected)
})

test.each(['images', 'run-report', 'input'])('there is no schema %s', async (name) => {
  const err = expect.stringContaining(
    'The name must be one of output, events, error, manifest, not',
  ) as string
  expect(await runMain(['schema', name])).toMatchObject({ code: 2, out: '', err })
})
