import { expect, test } from 'vitest'
import { outcomeOf } from '../gateway/events/outcome.ts'
import { peers } from './targets/peers.ts'

/** The values, or what the reading ends with. */
async function readings(text: string) {
  const bytes = Buffer.from(text)
  const theirs = Object.values(peers).map(async (read) => await read([bytes]))
  const { messages, error } = outcomeOf([bytes])
  return { ours: error ?? messages, theirs: await Promise.all(theirs) }
}

/** Where the program deliberately reads more or less than the standard says. */
test.for<[what: string, text: string, ours: unknown, theirs: readonly string[]]>([
  // They come before every framing (wire notes, second general rule), JSON among them.
  ['blanks before the first event', ' \t\ndata: 1\n\n', [1], ['1']],
  ['blanks before the first field', ' data: 1\n\n', [1], []],
  // Relays leave it out, and a whole message that came is not thrown away; half a one is never taken for whole.
  ['E9: a last event without its blank line', 'data: {"a":1}', [{ a: 1 }], []],
  ['E9: half a last event', 'data: {"a":', 'connection_lost', []],
  // Others hand over the text, and every caller of theirs has to know what it means.
  ['E14: [DONE]', 'data: 1\n\ndata: [DONE]\n\ndata: 2\n\n', [1], ['1', '[DONE]', '2']],
  ['E14: [DONE] with a tail', 'data: [DONE]x\n\n', 'reply_not_understood', ['[DONE]x']],
  // A failure must not look like a message.
  [
    'E15: an event named error',
    'event: error\ndata: {"code":"x"}\n\n',
    [{ error: { code: 'x' } }],
    ['{"code":"x"}'],
  ],
  ['E16: data that is not JSON', 'data: {"a":oops}\n\n', 'reply_not_understood', ['{"a":oops}']],
  // What relays were seen to do (wire notes, quirks 3 to 5).
  ['quirk 3: JSON without a field', 'data: 1\n\n{"a":2}\n', [1, { a: 2 }], ['1']],
  ['quirk 4: a comment as data', 'data: : ping\n\ndata: 1\n\n', [1], [': ping', '1']],
  ['quirk 5: a message over two events', 'data: {"a":\n\ndata: 1}\n\n', [{ a: 1 }], ['{"a":', '1}']],
])('differs from other readers on purpose: %s', async ([, text, ours, theirs]) => {
  expect(await readings(text)).toEqual({ ours, theirs: [theirs, theirs] })
})
