import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { stylesFor } from '../../../src/output/screen.ts'
import { drawLine, type LineParts } from '../../../src/output/job-progress.ts'
import { testContext } from '../../support/test-context.ts'

const running: LineParts = {
  percent: 42,
  label: 'in_progress',
  details: ['1:23', '~1:54 left'],
}

const context = testContext()
const noStyles = stylesFor(context, context.stderr)
const draw = (parts: LineParts, width: number, step = 0) => drawLine(parts, step, width, noStyles)

test.each([
  [79, '████████████░░░░░░░░░░░░░░░░░░   42%  in_progress  1:23  ~1:54 left'],
  [60, '█████████░░░░░░░░░░░░░░   42%  in_progress  1:23  ~1:54 left'],
  [39, '██████░░░░░░░░░   42%  1:23  ~1:54 left'],
  [19, '██░░░░░   42%  1:23'],
  [8, ' 42%'],
  [3, ' 42'],
  [0, ''],
])('at %i characters what matters most is kept', (width, line) => {
  expect(draw(running, width)).toBe(line)
})

test('without a percentage a part of the bar moves to and fro', () => {
  const pending = { ...running, percent: null, label: 'pending', details: ['0:05'] }
  const bars = Array.from({ length: 9 }, (_, step) => draw(pending, 22, step).slice(0, 7))
  expect(bars).toEqual([
    '███░░░░',
    '░███░░░',
    '░░███░░',
    '░░░███░',
    '░░░░███',
    '░░░███░',
    '░░███░░',
    '░███░░░',
    '███░░░░',
  ])
  expect(draw(pending, 22)).toBe('███░░░░  pending  0:05')
})

test('the bar is empty at nothing and full at everything only', () => {
  expect(draw({ ...running, percent: 0 }, 79)).not.toContain('█')
  expect(draw({ ...running, percent: 99 }, 79)).toContain('░')
  expect(draw({ ...running, percent: 100 }, 79)).not.toContain('░')
})

test('no line is wider than it may be', () => {
  const parts = fc.record({
    percent: fc.option(fc.integer({ min: 0, max: 100 })),
    label: fc.constantFrom('pending', 'in_progress', 'downloading 12'),
    details: fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(parts, fc.nat(1000), fc.integer({ min: -1, max: 200 }), (line, step, width) => {
      expect(draw(line, width, step).length).toBeLessThanOrEqual(Math.max(0, width))
    }),
  )
})
