import { expect, test } from 'vitest'
import { UsageError } from '../../src/errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace } from '../support/config-place.ts'

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype]
const prototypeNames = () => prototypes.map((prototype) => Reflect.ownKeys(prototype).length)

const levels = 'abcdefghijklmnopqrstuvwxyz'.split('')
/** On each level a list of so many aliases to the one before. */
const bomb = (names: readonly string[], count: number) =>
  names
    .map((name, at) => {
      const item = at === 0 ? '1' : `*${names[at - 1]}`
      return `${name}: &${name} [${Array(count).fill(item).join(', ')}]`
    })
    .join('\n')
const bombs: Record<string, string> = {
  'aliases that double at every level': bomb(levels, 2),
  'ten aliases at each of nine levels': bomb(levels.slice(0, 9), 10),
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

test.each(Object.entries(bombs))(
  '%s is read or refused, briefly, and no prototype is changed',
  async (_, content) => {
    for (const name of ['.modelgaterc.json', '.modelgaterc.yaml']) {
      const place = configPlace({ files: { [`project/${name}`]: content } })
      const before = prototypeNames()
      const error: unknown = await resolveSettings(place.context).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      // Not the error itself: its message may be as long as the file.
      expect([error === undefined || error instanceof UsageError, String(error).length > 10_000]).toEqual([
        true,
        false,
      ])
      expect(prototypeNames()).toEqual(before)
    }
  },
)
