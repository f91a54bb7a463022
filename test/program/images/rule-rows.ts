import { families } from '../../../src/contract/families.ts'
import { flagName, type Endpoint, type Field } from '../../../src/contract/field.ts'
import { modelCalled } from '../../../src/contract/known-models.ts'

/** A rule of an endpoint's table at its boundary or one step past it, as words of a call. */
export interface RuleRow {
  readonly name: string
  readonly words: readonly string[]
  /** What the refusal must begin with; undefined where the request is right. */
  readonly refused: string | undefined
}

/** The families that an endpoint is for, each by one of its models, and a model of none. */
export function kindsOf({ name }: Endpoint): string[] {
  const served = families.filter(({ endpoints }) => endpoints[name!] !== undefined)
  return [...served.map(({ id }) => (id === 'gpt-image-2.5' ? 'gpt-image-2.5-flare' : id)), 'some-model']
}

/** Every field of an endpoint for the models of one family: each allowed extreme, and one step past each. */
export function fieldRows(endpoint: Endpoint, model: string): RuleRow[] {
  const narrower = modelCalled(model).family?.endpoints[endpoint.name!] ?? {}
  return Object.entries(endpoint.fields).flatMap(([name, wide]): RuleRow[] => {
    if (name === 'model') return []
    const flag = name === 'prompt' ? 'prompt' : `--${flagName(name)}`
    const limits = narrower[name] ?? {}
    if (limits === false) {
      const value = wide.type === 'boolean' ? true : allowedOf(wide)[0]
      return [
        { name: `${name}, which the family does not have`, words: wordsFor(name, value), refused: flag },
      ]
    }
    const field = { ...wide, ...limits }
    const row = (value: unknown, refused: string | undefined): RuleRow => ({
      name: `${name} = ${String(JSON.stringify(value)).slice(0, 20)}`,
      words: [...companions(name, value), ...wordsFor(name, value)],
      refused,
    })
    return [
      ...allowedOf(field).map((value) => {
        // Only a family that streams has partial images.
        const lacks = companionOf(name, value)
        return row(value, lacks !== undefined && narrower[lacks] === false ? `--${lacks}` : undefined)
      }),
      ...beyondOf(field).map((value) => row(value, flag)),
    ]
  })
}

/** Rules that tie fields together, on both sides, for a family that has all of them. */
export const tiedRows: readonly RuleRow[] = (
  [
    ['--background transparent', undefined],
    ['--background transparent --output-format png', undefined],
    ['--background transparent --output-format webp', undefined],
    ['--background transparent --output-format jpeg', '--background needs --output-format:'],
    ['--background opaque --output-format jpeg', undefined],
    ['--output-compression 50', '--output-compression needs --output-format:'],
    ['--output-compression 100 --output-format png', '--output-compression needs --output-format:'],
    ['--output-compression 0 --output-format webp', undefined],
    ['--output-compression 0 --output-format jpeg', undefined],
    ['--partial-images 1', '--partial-images needs --stream:'],
    ['--partial-images 3 --no-stream', '--partial-images needs --stream:'],
    ['--partial-images 0', undefined],
    ['--partial-images 3 --stream', undefined],
  ] as const
).map(([words, refused]) => ({ name: words, words: words.split(' '), refused }))

/** The field that a value needs beside it. */
function companionOf(name: string, value: unknown): string | undefined {
  if (name === 'output_compression' || value === 'transparent') return 'output_format'
  return name === 'partial_images' && value !== 0 ? 'stream' : undefined
}

function companions(name: string, value: unknown): readonly string[] {
  const other = companionOf(name, value)
  if (other === 'stream') return ['--stream']
  return other === undefined ? [] : ['--output-format', 'webp']
}

/** A prompt of characters outside the basic plane is counted by characters, too. */
function allowedOf({ values, known, size, min, max, maxLength, type }: Field): unknown[] {
  return [
    ...(values ?? known ?? []),
    ...(size === undefined ? [] : ['1536x864', '3840x2160', '480x1440', '1024x640']),
    ...[min, max].filter((bound) => bound !== undefined),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength), '𝄞'.repeat(maxLength)]),
    ...(type === 'boolean' ? [false, true] : []),
  ]
}

function beyondOf({ values, size, min, max, minLength, maxLength, type }: Field): unknown[] {
  return [
    ...(values === undefined ? [] : ['nonsense', '']),
    ...(size === undefined ? [] : ['1000x1000', '464x1440', '3856x2160', '3840x2176', '1008x640']),
    ...(min === undefined ? [] : [min - 1]),
    ...(max === undefined ? [] : [max + 1]),
    ...(minLength === undefined ? [] : ['']),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1), '𝄞'.repeat(maxLength + 1)]),
    ...(type === 'integer' ? ['two', 1.5] : []),
    ...(type === 'boolean' ? ['perhaps'] : []),
  ]
}

/** A field as words of a call; what no flag can say is said with `--set`. */
function wordsFor(name: string, value: unknown): readonly string[] {
  if (typeof value === 'boolean') return [`--${value ? '' : 'no-'}${flagName(name)}`]
  if (name === 'prompt' || value === 'perhaps') return ['--set', `${name}=${JSON.stringify(value)}`]
  return [`--${flagName(name)}=${typeof value === 'string' ? value : JSON.stringify(value)}`]
}
