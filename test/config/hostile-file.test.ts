import { expect, test } from 'vitest'
import { UsageError } from '../../src/errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace } from '../support/config-place.ts'

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype]
const prototypeNames = () => prototypes.map((prototype) => Reflect.ownKeys(prototype).length)

/** Either the settings are read, or it is a UsageError; and no prototype is different afterwards. */
async function outcome(read: () => Promise<unknown>): Promise<object> {
  const before = prototypeNames()
  const message = await read().then(() => '', messageOf)
  const polluted = String(before) !== String(prototypeNames()) || 'polluted' in {}
  return { polluted, endless: message.length > 10_000 }
}

const sane = { polluted: false, endless: false }

function messageOf(error: unknown): string {
  if (error instanceof UsageError) return error.message
  // Not the error itself: its message may be as long as the file.
  throw new Error(String(error).slice(0, 500))
}

const levels = 'abcdefghijklmnopqrstuvwxyz'.split('')
const bombs: Record<string, string> = {
  'aliases that double at every level': levels
    .map(
      (name, index) =>
        `${name}: &${name} [${index === 0 ? '1, 1' : `*${levels[index - 1]}, *${levels[index - 1]}`}]`,
    )
    .join('\n'),
  'ten aliases at each of nine levels': levels
    .slice(0, 9)
    .map(
      (name, index) =>
        `${name}: &${name} [${Array(10)
          .fill(index === 0 ? 'lol' : `*${levels[index - 1]}`)
          .join(', ')}]`,
    )
    .join('\n'),
  'an alias to itself': 'families: &a\n  x: *a',
  'aliases inside a setting': `x: &x [1, 2]\nfamilies: { ${Array.from({ length: 90 }, (_, index) => `m${index}: *x`).join(', ')} }`,
  'a hundred thousand levels of lists': '['.repeat(100_000),
  'a hundred thousand closed levels': '['.repeat(100_000) + ']'.repeat(100_000),
  'a hundred thousand mappings': '{"a":'.repeat(100_000),
  'two hundred thousand nodes': `families: [${'1,'.repeat(300_000)}1]`,
  'a very long name': `${'n'.repeat(500_000)}: 1`,
  'a very long text': `text_model: ${'n'.repeat(1_000_000)}`,
  'spaces without end': `text_model:${' '.repeat(1_000_000)}x:`,
}

test.each(Object.entries(bombs))('%s', async (_, content) => {
  for (const name of ['.modelgaterc.json', '.modelgaterc.yaml']) {
    const place = configPlace({ files: { [`project/${name}`]: content } })
    expect(await outcome(() => resolveSettings(place.context))).toEqual(sane)
  }
})
