import { readFileSync, readdirSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { environmentRows, terminalVariables, topics } from '../../src/commands/help/topics.ts'
import { outputSchemas } from '../../src/events/documents.ts'
import type { HelpCommand, HelpDocument, HelpOption } from '../../src/events/help-document.ts'
import { loadedProgram } from '../support/program-tree.ts'
import { projectRoot } from '../support/generated-files.ts'
import { runMain } from '../support/run-main.ts'

async function helpJson(...words: string[]): Promise<HelpDocument> {
  const { code, out, err } = await runMain(['help', '--json', ...words])
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out) as HelpDocument
}

const whole = await helpJson()

function commandCalled(name: string): HelpCommand {
  return whole.commands.find((command) => command.name === name)!
}

function optionCalled(name: string, flag: string): HelpOption {
  return commandCalled(name).options.find((option) => option.flag === flag)!
}

function paths(command: Command, words: readonly string[] = []): string[] {
  return [words.join(' '), ...command.commands.flatMap((child) => paths(child, [...words, child.name()]))]
}

describe('help --json', () => {
  test.each([[[]], [['image', 'create']], [['video']]])(
    '%j is what its schema says, and no more',
    async (words) => {
      const closed = JSON.stringify(outputSchemas.output).replaceAll(
        '"type":"object",',
        '"type":"object","additionalProperties":false,',
      )
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
        JSON.parse(closed) as object,
      )
      expect([validate(await helpJson(...words)), validate.errors]).toEqual([true, null])
    },
  )

  test('has every command, and every option that a help shows', async () => {
    const program = await loadedProgram()
    expect(whole.commands.map(({ name }) => name)).toEqual(paths(program))
    const missing = whole.commands.flatMap(({ name, options }) => {
      const words = name.split(' ').filter(Boolean)
      const command = words.reduce(
        (parent, word) => parent.commands.find((one) => one.name() === word)!,
        program,
      )
      const shown = command.createHelp().visibleOptions(command)
      const flags = shown.map(({ long }) => long!).filter((flag) => flag !== '--help' && flag !== '--version')
      return flags
        .filter((flag) => !options.some((option) => option.flag === flag))
        .map((flag) => [name, flag])
    })
    expect(missing).toEqual([])
  })

  test('of a command has that and all below it', async () => {
    expect((await helpJson('image')).commands.map(({ name }) => name)).toEqual([
      'image',
      'image create',
      'image edit',
    ])
    expect((await helpJson('wait')).commands.map(({ name }) => name)).toEqual(['wait'])
  })

  test('tells what an option takes', () => {
    expect(optionCalled('image create', '--n')).toMatchObject({
      short: '-n',
      value: { placeholder: 'number', type: 'integer', min: 1, max: 10 },
      default: '1',
      field: 'n',
    })
    expect(optionCalled('respond', '--stream')).toMatchObject({ value: null, negation: '--no-stream' })
    expect(optionCalled('generate', '--schema').conflicts).toEqual([
      '--response-schema',
      '--response-json-schema',
      '--response-mime-type',
    ])
    expect(optionCalled('generate', '--attach')).toMatchObject({
      short: '-a',
      repeatable: true,
      value: { type: 'path or url' },
    })
    expect(optionCalled('', '--json').conflicts).toEqual(['--jsonl', '--raw'])
    expect(optionCalled('respond', '--max-retries')).toMatchObject({
      default: '2',
      settings: [{ name: 'max_retries', environment: 'MODELGATE_MAX_RETRIES' }],
    })
    expect(optionCalled('jobs', '--state').value!.values).toContain('in_progress')
    expect(optionCalled('image create', '--model').settings).toEqual([
      { name: 'image_model', environment: 'MODELGATE_IMAGE_MODEL' },
    ])
    expect(optionCalled('generate', '--function-calling-mode').value).toMatchObject({
      type: 'word',
      values: ['AUTO', 'ANY', 'NONE', 'VALIDATED'],
    })
  })

  test('of what there is not is refused as JSON', async () => {
    const { code, out, err } = await runMain(['help', '--json', 'vidoe'])
    expect([code, out]).toEqual([2, ''])
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage' } })
  })
})

describe('topics', () => {
  test.each(Object.keys(topics).flatMap((name) => [40, 80].map((columns) => [name, columns] as const)))(
    '%s fits %i columns',
    async (name, columns) => {
      const { out } = await runMain(['help', name], { columns })
      const tooLong = out.split('\n').filter((line) => line.length > columns && /\S\s+\S/.test(line.trim()))
      expect(tooLong).toEqual([])
      expect(out).toMatch(/^Examples:$/m)
      expect(out).not.toMatch(/[ \t]\n|\n\n\n|\n\n$/)
    },
  )

  test('name only commands and flags that there are', () => {
    // The codes are those of errors.ts.
    const { 'exit-codes': _, ...written } = topics
    const texts = Object.values(written).flatMap(({ blocks, examples }) => [
      ...blocks.flatMap(({ text = '', rows = [] }) => [text, ...rows.flat()]),
      ...examples.map(([line]) => line),
    ])
    const flags = new Set(whole.commands.flatMap(({ options }) => options.map(({ flag }) => flag)))
    const named = texts.flatMap((text) =>
      [...text.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag),
    )
    expect(named.length).toBeGreaterThan(20)
    // A switch is kept under the name that turns it on or off.
    const isKnown = (flag: string) => flags.has(flag) || flags.has(flag.replace('--no-', '--'))
    expect(named.filter((flag) => !isKnown(flag))).toEqual([])
    const commands = texts.flatMap((text) =>
      [...text.matchAll(/modelgate ([a-z]+)/g)].map(([, name]) => name!),
    )
    expect(
      commands.filter((name) => !whole.commands.some((command) => command.name.split(' ')[0] === name)),
    ).toEqual([])
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
  const rows = environmentRows().flatMap(([names]) =>
    names.split(', ').map((name) => name.replace(/=.*/, '')),
  )
  const told = new Set([...rows, ...terminalVariables])
  expect(read.size).toBeGreaterThan(30)
  expect([...read].filter((name) => !told.has(name))).toEqual([])
  expect(terminalVariables.filter((name) => !source.includes(name))).toEqual([])
})
