import { readFileSync, readdirSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { environmentRows, terminalVariables, topics } from '../../src/commands/help/topics.ts'
import { outputSchemas } from '../../src/events/documents.ts'
import type { HelpDocument, HelpOption } from '../../src/events/help-document.ts'
import { loadedProgram } from '../support/program-tree.ts'
import { projectRoot } from '../support/generated-files.ts'
import { runMain } from '../support/run-main.ts'

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
    [
      'image create',
      '--n',
      { short: '-n', value: { type: 'integer', min: 1, max: 10 }, default: '1', field: 'n' },
    ],
    ['respond', '--stream', { value: null, negation: '--no-stream' }],
    ['generate', '--schema', { conflicts: expect.arrayContaining(['--response-schema']) as string[] }],
    ['generate', '--attach', { short: '-a', repeatable: true, value: { type: 'path or url' } }],
    ['', '--json', { conflicts: ['--jsonl', '--raw'] }],
    ['respond', '--max-retries', { default: '2', settings: [{ environment: 'MODELGATE_MAX_RETRIES' }] }],
    ['jobs', '--state', { value: { values: expect.arrayContaining(['in_progress']) as string[] } }],
    [
      'image create',
      '--model',
      { settings: [{ name: 'image_model', environment: 'MODELGATE_IMAGE_MODEL' }] },
    ],
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
      ...blocks.flatMap(({ text = '', rows = [] }) => [text, ...rows.flat()]),
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
