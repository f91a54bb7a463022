import { expect, test } from 'vitest'
import { createMessageReader } from '../../../src/gateway/events/message-reader.ts'
import { type FastPath, patternOf } from '../../../src/gateway/events/message-shape.ts'

/** Takes messages with an `n`, and nothing else that matters. */
function fastPathTo(take: (value: unknown) => void): FastPath {
  return {
    shapeOf(_, json) {
      const pattern = patternOf(json, (path) => (path === 'n' ? 'text' : 'any'))
      if (pattern === undefined) return undefined
      return {
        pattern,
        joins: false,
        take: (_text, event) => take(JSON.parse(event.slice(event.indexOf('{')))),
      }
    },
  }
}

const usual = (n: number | string) => `data: {"n":"${n}"}\n\n`
/** So many have to come before the next is taken. */
const first = [1, 2, 3, 4, 5, 6, 7, 8].map(usual).join('')

test('messages like earlier ones never reach the parser', () => {
  const parsed: unknown[] = []
  const taken: unknown[] = []
  const reader = createMessageReader({
    fastPath: fastPathTo((value) => taken.push(value)),
    onMessage: (value) => void parsed.push(value),
  })
  reader.push(Buffer.from(first))
  parsed.length = 0
  reader.push(Buffer.from(`event: x.y\r\ndata: {"n":"2"}\r\n\r\ndata: {"m":3}\n\n${usual(4)}da`))
  reader.push(Buffer.from(`ta: {"n":"5"}\n\n${usual(6)}`))
  reader.end()
  expect({ taken, parsed }).toEqual({
    taken: [{ n: '2' }, { n: '4' }, { n: '6' }],
    parsed: [{ m: 3 }, { n: '5' }],
  })
})

test('several shapes are known at a time', () => {
  const parsed: unknown[] = []
  const reader = createMessageReader({
    fastPath: fastPathTo(() => {}),
    onMessage: (value) => void parsed.push(value),
  })
  const others = ['{"n":"a","a":1}', '{"b":[1,{"c":"d"}],"n":"a"}'].map((json) => `data: ${json}\n\n`)
  reader.push(Buffer.from(first + others.map((one) => one.repeat(8)).join('')))
  parsed.length = 0
  reader.push(Buffer.from((usual(1) + others.join('')).repeat(50)))
  reader.end()
  expect(parsed).toEqual([])
})
