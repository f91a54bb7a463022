import { beforeEach, expect, test } from 'vitest'
import { flagName, flagsOf, type Endpoint } from '../../src/contract/field.ts'
import { generateContentEndpoint } from '../../src/contract/generate-content.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../src/contract/images.ts'
import { responsesEndpoint } from '../../src/contract/responses.ts'
import { sampleFor } from '../support/contract-samples.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { imageCall, imageRefusal, type ImageCommandName } from '../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { refusalOf, textCall, type TextCommand } from '../support/text-call.ts'

type Name = TextCommand | ImageCommandName

const endpoints: readonly (readonly [Name, Endpoint])[] = [
  ['generate', generateContentEndpoint],
  ['respond', responsesEndpoint],
  ['create', imageCreateEndpoint],
  ['edit', imageEditEndpoint],
]

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': pngBytes() })
})

const isImage = (command: Name): command is ImageCommandName => command === 'create' || command === 'edit'

/** Of images a call for a model of no known family: all fields are allowed. */
const imageWords = (command: ImageCommandName, words: readonly string[]) =>
  [command, '-m', 'some-model'].concat(command === 'edit' ? ['--image', 'a.png'] : [], words)

const bodyOf = async (command: Name, words: readonly string[]): Promise<Record<string, unknown>> =>
  isImage(command)
    ? (await imageCall(imageWords(command, words), { cwd })).request.body
    : (await textCall(command, words)).request.body

const refusal = (command: Name, words: readonly string[]) =>
  isImage(command) ? imageRefusal(imageWords(command, words), { cwd }) : refusalOf(command, words)

/** What else has to be said for a field to be allowed. */
const companions: Readonly<Record<string, readonly string[]>> = {
  output_compression: ['--output-format', 'jpeg'],
  partial_images: ['--stream'],
  background: ['--output-format', 'png'],
}

const cases = endpoints.flatMap(([command, { fields }]) =>
  flagsOf(fields)
    // The model has -m, and the prompt of an image is the words of the call.
    .filter(({ name }) => name !== 'model' && !(isImage(command) && name === 'prompt'))
    .map(({ name, path, field }) => ({ command, flag: `--${name}`, path, field })),
)

type Case = (typeof cases)[number]

const named = (chosen: readonly Case[]) => chosen.map((one) => [`${one.command} ${one.flag}`, one] as const)

const at = (body: unknown, path: readonly string[]) =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body)

/** As words of a call; repeated where the flag is, and followed by a prompt where the field is none itself. */
function given({ command, flag, path }: Case, values: readonly string[]): string[] {
  const words = values.length === 0 ? [flag] : values.flatMap((value) => [flag, value])
  const more = isImage(command) ? (companions[path[0]!] ?? []) : []
  return ['contents', 'input'].includes(path[0]!) ? words : [...more, ...words, 'hi']
}

test.each(endpoints)('%s has a flag for every field, and none twice', (command, { fields }) => {
  const flags = cases.filter((one) => one.command === command).map(({ flag }) => flag)
  const missing = Object.keys(fields).filter((name) => !flags.includes(`--${flagName(name)}`))
  const elsewhere = isImage(command) ? ['model', 'prompt'] : ['model']
  expect(missing.filter((name) => !elsewhere.includes(name))).toEqual([])
  expect(new Set(flags).size).toBe(flags.length)
})

test.each(named(cases))('%s sets its field, over --body, and --set overrides both', async (_, one) => {
  const { words, value } = sampleFor(one.field)
  expect(at(await bodyOf(one.command, given(one, words)), one.path)).toEqual(value)
  const start = one.path.reduceRight<unknown>((inner, name) => ({ [name]: inner, kept: 1 }), 'from the body')
  const base = ['--no-validate', '--body', JSON.stringify(start)]
  const body = await bodyOf(one.command, [...base, ...given(one, words)])
  expect(at(body, one.path)).toEqual(value)
  expect(at(body, [...one.path.slice(0, -1), 'kept'])).toBe(1)
  const set = await bodyOf(one.command, [
    ...base,
    '--set',
    `${one.path.join('.')}={"set":1}`,
    ...given(one, words),
  ])
  expect(at(set, one.path)).toEqual({ set: 1 })
})

const switches = cases.filter(({ field }) => field.type === 'boolean')

test.each(named(switches))('%s can be negated', async (_, one) => {
  const argv = ['--no-validate', ...given({ ...one, flag: one.flag.replace('--', '--no-') }, [])]
  expect(at(await bodyOf(one.command, argv), one.path)).toBe(false)
  const body = JSON.stringify({ [one.path[0]!]: one.path.length === 1 ? true : {} })
  expect(at(await bodyOf(one.command, ['--body', body, ...argv]), one.path)).toBe(false)
})

const nullable = cases.filter(({ field }) => field.nullable && field.type !== 'boolean')

test.each(named(nullable))('%s takes null', async (_, one) => {
  expect(at(await bodyOf(one.command, given(one, ['null'])), one.path)).toBe(null)
})

const isNumber = ({ field }: Case) => field.type === 'integer' || field.type === 'number'

test.each(named(cases.filter(isNumber)))('%s takes nothing but a number', async (_, one) => {
  const noun = one.field.type === 'integer' ? 'a whole number' : 'a number'
  for (const word of ['nope', '', '1,5', 'NaN', 'Infinity', '1e999']) {
    expect(await refusal(one.command, given(one, [word]))).toMatchObject({
      exit: 2,
      lines: [`${one.flag} must be ${noun}, not ${JSON.stringify(word)}.`],
    })
  }
  if (one.field.type !== 'integer') return
  expect((await refusal(one.command, given(one, ['1.5']))).lines).toEqual([
    `${one.flag} must be a whole number, not 1.5.`,
  ])
})

const lists = cases.filter(({ field }) => field.items?.type === 'string')

test.each(named(lists))('%s takes one text, several, or a JSON list', async (_, one) => {
  const [first, second] = sampleFor(one.field).words as [string, string]
  const value = async (...words: string[]) => at(await bodyOf(one.command, given(one, words)), one.path)
  expect(await value(first)).toEqual([first])
  expect(await value(first, second)).toEqual([first, second])
  expect(await value(JSON.stringify([second]))).toEqual([second])
})
