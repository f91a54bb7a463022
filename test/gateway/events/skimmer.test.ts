import { expect, test } from 'vitest'
import { createMessageReader } from '../../../src/gateway/events/message-reader.ts'
import type { FastPath } from '../../../src/gateway/events/skimmer.ts'

const usual = (n: number | string) => `data: {"n":"${n}"}\n\n`

test('usual messages never reach the parser', () => {
  const parsed: unknown[] = []
  const taken: string[] = []
  const fastPath: FastPath = {
    pattern: String.raw`\{"n":"(\d)"\}`,
    textGroup: 1,
    joins: (message, before) => Number(message[1]) > Number(before[1]),
    take: (texts, [last]) => void taken.push(`${texts} ${last.includes('\r') ? 'CRLF' : 'LF'}`),
  }
  const reader = createMessageReader({ fastPath, onMessage: (value) => void parsed.push(value) })
  reader.push(Buffer.from(`event: x.y\r\ndata: {"n":"2"}\r\n\r\ndata: {"m":3}\n\n${usual(4)}da`))
  reader.push(Buffer.from(`ta: {"n":"5"}\n\n${[6, 7, 3, 8].map(usual).join('')}event: error\n${usual(9)}`))
  reader.end()
  expect({ taken, parsed }).toEqual({
    taken: ['2 CRLF', '4 LF', '67 LF', '38 LF'],
    parsed: [{ m: 3 }, { n: '5' }, { error: { n: '9' } }],
  })
})
