import { join } from 'node:path'
import { Command } from 'commander'
import { beforeEach, expect, test } from 'vitest'
import { addCommonOptions } from '../../../src/commands/shared/options/common-options.ts'
import { flagName, type Endpoint, type Field } from '../../../src/contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../../src/contract/images.ts'
import { sampleFor } from '../../support/contract-samples.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { imageCall, imageRefusal, type ImageCommandName } from '../../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const endpoints: readonly (readonly [ImageCommandName, Endpoint])[] = [
  ['create', imageCreateEndpoint],
  ['edit', imageEditEndpoint],
]

interface Case {
  readonly command: ImageCommandName
  readonly name: string
  readonly flag: string
  readonly field: Field
}

const cases: Case[] = endpoints.flatMap(([command, { fields }]) =>
  Object.entries(fields)
    // The model has -m, the prompt is the words of the call.
    .filter(([name]) => name !== 'model' && name !== 'prompt')
    .map(([name, field]) => ({ command, name, flag: `--${flagName(name)}`, field })),
)

const named = (chosen: readonly Case[]) => chosen.map((one) => [`${one.command} ${one.flag}`, one] as const)

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
})

/** A call for a model of no known family: all fields are allowed. */
function call(command: ImageCommandName, words: readonly string[]): readonly string[] {
  const source = command === 'edit' ? ['--image', 'a.png'] : []
  return [command, '-m', 'some-model', ...source, ...words, 'a dot']
}

const bodyOf = async (command: ImageCommandName, words: readonly string[]) =>
  (await imageCall(call(command, words), { cwd })).request.body

/** What else has to be said for a field to be allowed. */
function companions({ name }: Case): string[] {
  if (name === 'output_compression') return ['--output-format', 'jpeg']
  return name === 'partial_images' ? ['--stream'] : name === 'background' ? ['--output-format', 'png'] : []
}

test.each(named(cases))('%s puts its value into the body', async (_, one) => {
  const { words, value } = sampleFor(one.field)
  expect(await bodyOf(one.command, [...companions(one), one.flag, ...words])).toMatchObject({
    prompt: 'a dot',
    model: 'some-model',
    [one.name]: value,
  })
})

test.each(named(cases))('%s overrides --body, and --set overrides both', async (_, one) => {
  const { words, value } = sampleFor(one.field)
  const base = ['--no-validate', '--body', JSON.stringify({ [one.name]: 'from the body', user: 'kept' })]
  const body = await bodyOf(one.command, [...base, one.flag, ...words])
  expect(body).toMatchObject({ user: 'kept', [one.name]: value })
  const set = ['--set', `${one.name}={"set":1}`]
  expect(await bodyOf(one.command, [...base, ...set, one.flag, ...words])).toMatchObject({
    [one.name]: { set: 1 },
  })
})

test.each(endpoints)('a field of %s that no flag names is not in the body', async (command) => {
  expect(await bodyOf(command, [])).toEqual({ prompt: 'a dot', model: 'some-model' })
})

test.each(['create', 'edit'] as const)('%s: -n and --n are the same', async (command) => {
  for (const words of [['-n', '3'], ['-n3'], ['--n', '3'], ['--n=3']]) {
    const { request } = await imageCall(call(command, words), { cwd })
    expect([request.body['n'], request.wanted]).toEqual([3, [1, 2, 3]])
  }
})

test.each(named(cases.filter(({ field }) => field.type === 'boolean')))(
  '%s can be negated',
  async (_, one) => {
    const negated = one.flag.replace('--', '--no-')
    expect(await bodyOf(one.command, [negated])).toMatchObject({ [one.name]: false })
    const body = ['--body', JSON.stringify({ [one.name]: true })]
    expect(await bodyOf(one.command, [...body, negated])).toMatchObject({ [one.name]: false })
  },
)

test.each(named(cases.filter(({ field }) => field.nullable && field.type !== 'boolean')))(
  '%s takes null',
  async (_, one) => {
    expect(await bodyOf(one.command, [one.flag, 'null'])).toMatchObject({ [one.name]: null })
  },
)

test.each(named(cases.filter(({ field }) => field.type === 'integer')))(
  '%s takes nothing but a whole number',
  async (_, one) => {
    for (const [word, shown] of [
      ['nope', '"nope"'],
      ['', '""'],
      ['1,5', '"1,5"'],
      ['1e999', '"1e999"'],
      ['1.5', '1.5'],
    ] as const) {
      const words = call(one.command, [...companions(one), one.flag, word])
      expect(await imageRefusal(words, { cwd })).toMatchObject({
        exit: 2,
        lines: [`${one.flag} must be a whole number, not ${shown}.`],
      })
    }
  },
)

test.each(endpoints)('no flag of a field of %s is an option of every command', (command) => {
  const program = new Command()
  addCommonOptions(program)
  const common = new Set(program.options.flatMap(({ long, short }) => [long, short]))
  const own = cases.filter((one) => one.command === command).map(({ flag }) => flag)
  expect([...own, '-n', '--image', '--mask'].filter((flag) => common.has(flag))).toEqual([])
})

test('all that is wrong is told at once, each with the flag to change', async () => {
  const { exit, code, lines, hint } = await imageRefusal(
    [
      'create',
      '-m',
      'dall-e-3',
      '-n',
      '2',
      '--size',
      '512x512',
      '--stream',
      '--quality',
      'low',
      'x'.repeat(4001),
    ],
    { cwd },
  )
  expect([exit, code, hint]).toEqual([2, 'invalid_request', '--no-validate sends it anyway.'])
  expect(lines).toEqual([
    'prompt must have at most 4000 characters for dall-e-3 (image-model-c), not 4001.',
    '--n must be 1 for dall-e-3 (image-model-c), not 2.',
    '--stream is not for dall-e-3 (image-model-c).',
    '--quality must be one of auto, hd, standard for dall-e-3 (image-model-c), not "low".',
    '--size must be one of 1024x1024, 1792x1024, 1024x1792 for dall-e-3 (image-model-c), not "512x512".',
  ])
})

test('a misspelt field of --body is named with what was meant', async () => {
  const words = ['create', '-m', 'some-model', '--body', '{"qualty":"low"}', 'x']
  expect((await imageRefusal(words, { cwd })).lines).toEqual([
    '"qualty" is not a field of this request; did you mean "quality"?',
  ])
  expect((await imageCall([...words, '--set', 'qualty="low"'], { cwd })).request.body).toMatchObject({
    qualty: 'low',
  })
})

test('a field that the contract does not know is reached with --set', async () => {
  const body = await bodyOf('create', ['--set', 'x.y=1', '--set', 'seed=7'])
  expect(body).toMatchObject({ x: { y: 1 }, seed: 7 })
})

test('names of files in the working directory are no prompt', async () => {
  expect((await imageCall(call('edit', []), { cwd })).request.prompt).toBe('a dot')
  expect((await imageCall(['create', '-m', 'm', join(cwd, 'a.png')], { cwd })).request.prompt).toBe(
    join(cwd, 'a.png'),
  )
})
