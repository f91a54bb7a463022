import { expect, test } from 'vitest'
import { amountOf } from '../../src/cost/amount.ts'
import type { Creation } from '../../src/cost/creation.ts'
import type { KnownCost } from '../../src/cost/estimate.ts'
import { FileError, ModelgateError } from '../../src/errors.ts'
import type { Count } from '../../src/files/calls/call-book.ts'
import {
  cannotCount,
  checkOwn,
  checkPrice,
  Created,
  type SpendingLimits,
} from '../../src/operations/spending-limits.ts'

const since = { since: 0, sinceText: '2026-11-22 00:00' }
const images = (count: number): Creation => ({ model: 'm', count, of: 'image' })
const about = (price: number): KnownCost => ({ amount: amountOf(price), currency: 'USD' })
const entry = (count: number, amount: string | null = null, currency = 'USD'): Count => ({
  count,
  amount,
  currency: amount === null ? null : currency,
})

/** What a check throws, and what it warns of. */
function outcome(check: (warn: (message: string) => void) => void) {
  const warnings: string[] = []
  try {
    check((message) => warnings.push(message))
    return { warnings }
  } catch (error) {
    const { exitCode, code, message, facts } = error as ModelgateError
    return { exitCode, code, message, facts, warnings }
  }
}
const held = (limits: Partial<SpendingLimits>, creation: Creation, known?: KnownCost, before: Count[] = []) =>
  outcome((warn) => {
    const created = new Created(warn)
    for (const line of before) created.add(line, 'calls')
    created.check({ ...since, ...limits }, creation, known)
  })

test.each([
  [undefined, 1000, 1000],
  [3, 0, 3],
  [3, 2, 1],
])('with --max-creates %s and %i created, %i more are allowed', (own, created, count) => {
  expect(outcome(() => checkOwn({ ...since, own }, created, images(count)))).toEqual({ warnings: [] })
})

test.each([
  [0, 4, '--max-creates 3 is reached: this would create 4 images. Nothing was sent.'],
  [
    3,
    1,
    '--max-creates 3 is reached: it has created 3, and this would create 1 image more. Nothing was sent.',
  ],
])('with --max-creates 3 and %i created, %i more are not', (created, count, message) => {
  expect(outcome(() => checkOwn({ ...since, own: 3 }, created, images(count)))).toEqual({
    exitCode: 15,
    code: 'creations_limit',
    message,
    facts: { phase: 'send', billed: 'no', hint: 'Raise --max-creates, or ask for less.' },
    warnings: [],
  })
})

test.each([
  ['painter', 'painter', 'prices.painter'],
  [null, 'the model that the gateway chooses', 'prices.MODEL'],
])('without a price for %s, --max-cost cannot be checked', (model, subject, setting) => {
  expect(outcome((warn) => checkPrice({ ...images(1), model }, undefined, warn))).toMatchObject({
    exitCode: 2,
    code: 'price_unknown',
    message: `--max-cost cannot be checked: there is no price for this call of ${subject}.`,
    facts: {
      phase: 'config',
      hint: `Set ${setting} in your configuration file (docs/cost.md), or leave out --max-cost.`,
    },
    warnings: [],
  })
})

test('what a price leaves out is told', () => {
  expect(outcome((warn) => checkPrice(images(1), about(1), warn))).toEqual({ warnings: [] })
  const without = 'how many tokens will be generated'
  expect(outcome((warn) => checkPrice(images(1), { ...about(1), without }, warn))).toEqual({
    warnings: [
      'The estimate for --max-cost leaves out how many tokens will be generated, which is not known yet.',
    ],
  })
})

test('MODELGATE_MAX_CREATES counts what every command has created', () => {
  const before = [entry(2), entry(1)]
  expect(held({ all: 4 }, images(1), undefined, before)).toEqual({ warnings: [] })
  expect(held({}, images(1000), undefined, before)).toEqual({ warnings: [] })
  expect(held({ all: 4 }, images(2), undefined, before)).toEqual({
    exitCode: 15,
    code: 'creations_limit',
    message:
      'MODELGATE_MAX_CREATES=4 is reached: 3 created since 2026-11-22 00:00, and this would be 2 images more. Nothing was sent.',
    facts: {
      phase: 'send',
      billed: 'no',
      hint: 'Raise MODELGATE_MAX_CREATES, or count from a later time with MODELGATE_COUNT_SINCE; see what was created: modelgate usage --since 2026-11-22T00:00',
      next: ['modelgate', 'usage', '--since', '2026-11-22T00:00'],
    },
    warnings: [],
  })
})

test('--max-cost may be reached exactly, and not be exceeded', () => {
  const before = [entry(1, '0.1'), entry(1, '0.2')]
  const limits = { cost: amountOf(0.5) }
  expect(held(limits, images(1), about(0.2), before)).toEqual({ warnings: [] })
  // Without an estimate there is nothing to add up; without the limit there is nothing to hold it against.
  expect(held(limits, images(1), undefined, before)).toEqual({ warnings: [] })
  expect(held({}, images(1), about(1000), before)).toEqual({ warnings: [] })
  expect(held({}, images(1), about(1), [entry(1), entry(1, '1', 'EUR')])).toEqual({ warnings: [] })
  expect(held(limits, images(1), about(0.21), before)).toEqual({
    exitCode: 15,
    code: 'cost_limit',
    message:
      '--max-cost 0.5 USD is reached, by estimate: 0.30 since 2026-11-22 00:00, and about 0.21 for this call. Nothing was sent.',
    facts: {
      phase: 'send',
      billed: 'no',
      hint: 'Raise --max-cost, or look at what was spent: modelgate usage --since 2026-11-22T00:00',
      next: ['modelgate', 'usage', '--since', '2026-11-22T00:00'],
    },
    warnings: [],
  })
})

test('earlier calls of unknown cost count nothing, and are told', () => {
  const before = [entry(1), entry(1, '0.1'), entry(1)]
  expect(held({ cost: amountOf(0.3) }, images(1), about(0.2), before)).toEqual({
    warnings: [
      'The estimate for --max-cost leaves out 2 earlier calls since 2026-11-22 00:00: their cost is not known.',
    ],
  })
})

test('what was given back counts no longer, and a cost is what was said last', () => {
  const before = [entry(1, '5', 'EUR'), { count: -1, was: '5', currency: 'EUR' }, entry(1, '9')]
  const corrected = [...before, { count: 0, amount: '0.25', was: '9', currency: 'USD' }]
  expect(held({ cost: amountOf(0.5), all: 2 }, images(1), about(0.25), corrected)).toEqual({ warnings: [] })
  expect(held({ cost: amountOf(0.5) }, images(1), about(0.26), corrected)).toMatchObject({
    code: 'cost_limit',
  })
})

test('a damaged line counts as a creation, and is told', () => {
  const { code, warnings } = outcome((warn) => {
    const created = new Created(warn)
    created.add(undefined, 'the line at byte 7 of calls')
    created.check({ ...since, all: 1 }, images(1), undefined)
  })
  expect([code, warnings]).toEqual([
    'creations_limit',
    ['A record is damaged (the line at byte 7 of calls): it counts as a creation.'],
  ])
})

test('costs in several currencies cannot be added up', () => {
  const before = [entry(1), entry(1, '0.1'), entry(1, '0.1', 'EUR')]
  expect(held({ cost: amountOf(100) }, images(1), about(0.2), before)).toMatchObject({
    exitCode: 2,
    code: 'price_unknown',
    message: '--max-cost cannot be checked: since 2026-11-22 00:00 there were costs in EUR and USD.',
    facts: { phase: 'config', hint: 'To continue, count from a later time with MODELGATE_COUNT_SINCE.' },
    warnings: [],
  })
})

test('with a limit, what cannot be counted is not sent', () => {
  const broken = new FileError('no_space', 'The disk is full.', { billed: 'maybe' })
  expect(cannotCount(broken)).toMatchObject({
    exit: 'io',
    code: 'no_space',
    message: 'What is created cannot be counted, so nothing was sent: The disk is full.',
    facts: { phase: 'send', billed: 'no' },
  })
  const limit = new ModelgateError('limit', 'cost_limit', 'No.')
  expect(cannotCount(limit)).toBe(limit)
  const other = new TypeError('No.')
  expect(cannotCount(other)).toBe(other)
})
