import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventSplitter } from '../../../src/sandbox/recording/call-handler.ts'

const first = ['event: a\ndata: {"n":1}\n\n', 'data: two\r\n\r\n', ': comment\r\r']
const events = [...first, 'data: {"x":"\\n\\n"}\n\n']
const stream = `${events.join('')}data: open`

test('events are the same, however the stream is cut, and no byte is lost', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (sizes) => {
      const splitter = new EventSplitter()
      const found: string[] = []
      let passed = ''
      let at = 0
      for (let turn = 0; at < stream.length; turn++) {
        const size = sizes[turn % sizes.length]!
        for (const { text, event } of splitter.push(stream.slice(at, at + size))) {
          passed += text
          if (event !== undefined) found.push(event)
        }
        at += size
      }
      expect(found).toEqual(events)
      expect(passed).toBe(stream)
      expect(splitter.open).toBe('data: open')
    }),
  )
})
