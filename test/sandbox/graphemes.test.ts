import { expect, test } from 'vitest'
import { tokensOf } from '../../src/sandbox/answer/answer.ts'
import { eventsOf, generate, respond, runningSandbox } from '../support/running-sandbox.ts'

const family = '👨‍👩‍👧‍👦'
const england = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'
const flags = '🇫🇷🇩🇪🇯🇵🇧🇷🇨🇦🇮🇳🇲🇽'

const samples = [
  ['a joined emoji', `${family}${family}${family}`],
  ['flags', flags],
  ['a flag of tags', `abcdefg${england}`],
  ['combining marks', `${'e\u0301'.repeat(12)}`],
  ['a skin tone', `abcdefghi👍🏽`],
  ['a letter joined without width', 'می\u200cخواهم‌نمی\u200cدانم'],
  ['Hangul letters', '\u1112\u1161\u11ab\u1100\u1173\u11af\u1112\u1161\u11ab\u1100\u1173\u11af'],
  ['Devanagari', 'नमस्तेक्षत्रियज्ञ'],
] as const

test.for(samples)('%s is streamed in whole characters and is not changed', async ([, sample]) => {
  const sandbox = await runningSandbox()
  const events = eventsOf(await respond(sandbox, sample, { stream: true }))
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
  const chunks = eventsOf(await generate(sandbox, sample))
  const parts = chunks.flatMap(({ candidates }) => candidates[0].content.parts ?? []).map(({ text }) => text)
  for (const pieces of [deltas, parts]) {
    const text = pieces.join('')
    expect(text).toContain(`“${sample}”`)
    const boundaries = new Set([...new Intl.Segmenter().segment(text)].map(({ index }) => index))
    let at = 0
    for (const piece of pieces) {
      expect(boundaries, `before ${JSON.stringify(piece)}`).toContain(at)
      at += piece.length
    }
  }
})

test('a long run of one character is still streamed in pieces', () => {
  expect(tokensOf('x'.repeat(25)).map(({ length }) => length)).toEqual([10, 10, 5])
  expect(tokensOf('e\u0301'.repeat(20))).toHaveLength(4)
})

test('what is quoted is cut between characters, without control characters and other invisible ones', async () => {
  const sandbox = await runningSandbox()
  const quote = async (prompt: string) => {
    const { json } = await respond(sandbox, prompt)
    return /“(.*)”/.exec(json.output[0].content[0].text)?.[1]
  }
  expect(await quote(family.repeat(70))).toBe(`${family.repeat(59)}…`)
  expect(await quote(`${family.repeat(60)}`)).toBe(family.repeat(60))
  expect(await quote('a\u0007b\u202ec\u200bd\ne')).toBe('a b c d e')
})
