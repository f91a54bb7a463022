import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  amountFrom,
  amountNumber,
  amountOf,
  amountText,
  shownAmount,
  times,
  sumOfMoney,
} from '../../src/cost/amount.ts'

test.each<[string, string]>([
  ['0', '0'],
  ['1.25', '1.25'],
  ['000.50', '0.5'],
  ['1e-7', '0.0000001'],
  ['1e-10', '0.0000000001'],
  ['1.5e+2', '150'],
  ['0.0000000000000000019', '0.000000000000000001'],
  ['123456789012', '123456789012'],
])('reads %s as %s', (text, digits) => {
  expect(amountText(amountFrom(text)!)).toBe(digits)
})

test.each(['', '-1', '1,5', '.5', '5.', '1e', 'NaN', 'Infinity', '0x10', '1 '])('%j is no amount', (text) => {
  expect(amountFrom(text)).toBeUndefined()
})

test('a price is what was written, and a million small amounts are no more than they are', () => {
  const tenth = amountOf(0.1)
  expect(amountText(tenth)).toBe('0.1')
  let sum = 0n
  for (let count = 0; count < 1_000_000; count++) sum += tenth
  expect(amountText(sum)).toBe('100000')
  expect(amountText(times(tenth, 5.005))).toBe('0.5005')
})

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (amount) => {
      expect(amountFrom(amountText(amount))).toBe(amount)
    }),
  )
})

test('the number of an amount is the nearest', () => {
  expect(amountNumber(amountFrom('0.012345678901234567')!)).toBe(0.012345678901234567)
  expect(amountNumber(3n)).toBe(3e-18)
})

test.each([
  ['0', '0'],
  ['1234.5', '1234.50'],
  ['12.3456', '12.35'],
  ['1', '1.00'],
  ['0.9999', '1.00'],
  ['0.5', '0.50'],
  ['0.167', '0.167'],
  ['0.01234', '0.0123'],
  ['0.012', '0.012'],
  ['0.00041234', '0.000412'],
  ['0.01', '0.01'],
  ['0.000000000000000003', '0.000000000000000003'],
])('%s is shown as %s', (amount, shown) => {
  expect(shownAmount(amountFrom(amount)!)).toBe(shown)
})

test('what is known of several costs is added up, and nothing is not 0', () => {
  const money = (price: number) => ({ amount: amountOf(price), currency: 'USD' })
  expect(sumOfMoney([])).toBeNull()
  expect(sumOfMoney([null, null])).toBeNull()
  expect(sumOfMoney([null, money(0.1), null, money(0.2)])).toEqual(money(0.3))
  expect(sumOfMoney([money(0)])).toEqual(money(0))
})
