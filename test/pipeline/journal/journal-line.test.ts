import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import {
  type JournalEvent,
  findTail,
  readLines,
  writeLine,
} from '../../../src/pipeline/journal/journal-line.ts'
import { failure, intent, remoteJob, result } from './journal-samples.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const line = (event: object) => writeLine(event as JournalEvent, noon)
const read = (text: string | Buffer) => [...readLines(Buffer.from(text))]

const begin = { type: 'begin', run: 'r', manifest: 'm.yaml', version: '1' } as const
const release = { type: 'release', key: 'a', reason: 'refused' } as const
const discard = { type: 'discard', key: 'a' } as const
const end = { type: 'end', run: 'r' } as const
const events: readonly JournalEvent[] = [
  begin,
  intent('a'),
  intent('a', { cost: 0, creates: 0, queue: 'q' }),
  remoteJob('a'),
  result('a'),
  result('a', { rejected: [] }),
  result('a', { rejected: ['too large', 'too dark'] }),
  failure('a'),
  release,
  discard,
  end,
]

test('what is written is read again, whatever the event', () => {
  expect(read(events.map(line).join(''))).toEqual(events.map((event) => ({ event })))
})

// Readers rely on these: a line that lacks one is left out, rather than half of it believed.
test.each<[object, string, readonly unknown[]]>([
  [begin, 'run', [undefined, 7]],
  [begin, 'manifest', [undefined, null]],
  [intent('a'), 'instance', [undefined, 7]],
  [intent('a'), 'key', [undefined, 7]],
  [intent('a'), 'variant', [undefined, '1', 1.5, -1, null]],
  [intent('a'), 'idempotency_key', [undefined, 7]],
  [intent('a'), 'creates', [undefined, -1, 0.5, '1']],
  [intent('a'), 'cost', [undefined, '0.1', true]],
  [intent('a'), 'queue', [null, 7]],
  [remoteJob('a'), 'key', [undefined, 7]],
  [remoteJob('a'), 'id', [undefined, 7]],
  [remoteJob('a'), 'kind', [undefined, 7]],
  [result('a'), 'instance', [undefined]],
  [result('a'), 'key', [undefined]],
  [result('a'), 'variant', [undefined, -1]],
  [result('a'), 'result', [null, 'x', {}, { outputs: {} }]],
  [result('a'), 'rejected', [undefined, 'no', [7], ['no', 7], {}]],
  [failure('a'), 'instance', [undefined, 7]],
  [failure('a'), 'key', [undefined, 7]],
  [failure('a'), 'exit_code', [undefined, '9', -1]],
  [failure('a'), 'code', [undefined, 7]],
  [failure('a'), 'message', [undefined, 7]],
  [failure('a'), 'billed', [undefined, 7]],
  [release, 'key', [undefined, 7]],
  [discard, 'key', [undefined, 7]],
  [end, 'run', [undefined, 7]],
])('%o has to have a valid %s', (event, name, wrong) => {
  for (const value of wrong) {
    expect(read(line({ ...event, [name]: value }))).toEqual([{ problem: `has no valid "${name}"` }])
  }
})

/** A line of any text with a checksum that is right. */
function sealed(start: string): string {
  return `${start},"check":"${crc32(start).toString(16).padStart(8, '0')}"}\n`
}
const at = ',"at":"2026-11-22T12:00:00.000Z"'

test('a cost that is no number is not valid, although JSON can write it', () => {
  const start = JSON.stringify(intent('a', { cost: 0.5 })).slice(0, -1)
  expect(read(sealed(`${start}${at}`))).toEqual([{ event: intent('a', { cost: 0.5 }) }])
  expect(read(sealed(`${start.replace('0.5', '1e999')}${at}`))).toEqual([{ problem: 'has no valid "cost"' }])
})

test.each([
  ['an event without a type', `{"key":"a"${at}`],
  ['an event whose type is a number', `{"type":7${at}`],
  ['an event whose type is a list', `{"type":["end"],"run":"r"${at}`],
  ['an event of a later version', `{"type":"split"${at}`],
  ['a name of the prototype', `{"type":"toString"${at}`],
  ['no JSON', `{"type":${at}`],
  ['a list', `[7${at}`],
  ['an event without a time', '{"type":"end","run":"r"'],
  ['next to nothing', '{'],
])('%s is not known', (_, start) => {
  expect(read(sealed(start))).toEqual([{ problem: 'has an event that this version does not know' }])
})

test.each([
  ['nothing', ''],
  ['text', 'rubbish'],
  [
    'another checksum',
    line(end)
      .replace(/"check":"./, '"check":"x')
      .trimEnd(),
  ],
  ['a checksum without its beginning', line(end).slice(-20).trimEnd()],
])('a line of %s is damaged', (_, text) => {
  expect(read(`${text}\n`)).toEqual([{ problem: 'is damaged' }])
})

test('a checksum always has eight digits', () => {
  const lines = Array.from({ length: 400 }, (_, run) => line({ type: 'end', run: String(run) }))
  expect(lines.filter((text) => !/,"check":"[0-9a-f]{8}"}\n$/.test(text))).toEqual([])
  expect(lines.filter((text) => text.includes('"check":"0'))).not.toEqual([])
})

describe('what is behind the last newline', () => {
  const whole = line(begin)
  const last = line(discard)

  test('counts if it is whole, and the next line begins behind it', () => {
    const bytes = Buffer.from(`${whole}${last.trimEnd()}`)
    expect(read(bytes)).toEqual([{ event: begin }, { event: discard }])
    expect(findTail(bytes)).toEqual({ wholeBytes: bytes.length, needsNewline: true })
  })

  test('is left out if it is not, and to be cut off', () => {
    for (let length = 1; length < last.length - 1; length++) {
      const bytes = Buffer.from(`${whole}${last.slice(0, length)}`)
      expect(read(bytes)).toEqual([{ event: begin }])
      expect(findTail(bytes)).toEqual({ wholeBytes: whole.length, needsNewline: false })
    }
  })

  test('is nothing where the journal ends with a newline, or is empty', () => {
    expect(findTail(Buffer.from(whole))).toEqual({ wholeBytes: whole.length, needsNewline: false })
    expect(findTail(Buffer.alloc(0))).toEqual({ wholeBytes: 0, needsNewline: false })
    expect(read('')).toEqual([])
  })
})
