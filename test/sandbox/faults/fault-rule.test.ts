import { expect, test } from 'vitest'
import { faultActionNames } from '../../../src/sandbox/faults/actions.ts'
import { parseFaultRules } from '../../../src/sandbox/faults/fault-rule.ts'
import type { ModelgateError } from '../../../src/errors.ts'

const errorOf = (value: unknown): ModelgateError => {
  try {
    parseFaultRules(value, 'faults.yaml')
  } catch (error) {
    return error as ModelgateError
  }
  throw new Error('The rules were accepted.')
}

test('every field of a rule is read', () => {
  const rule = {
    id: 'busy',
    endpoint: 'responses',
    model: 'm',
    attempt: 1,
    nth: 2,
    times: 3,
    probability: 0.5,
    action: 'status',
    at: 'mid-event',
    event: 4,
    status: 429,
    headers: { 'retry-after': 2 },
    body: { any: 'thing' },
    value: 'text/plain',
    size: 5,
    ms: 0,
    accepted: true,
  }
  expect(parseFaultRules([rule], 'x')).toEqual([{ ...rule, headers: { 'retry-after': '2' } }])
  expect(parseFaultRules([{ action: 'cut', at: 17 }], 'x')).toEqual([{ action: 'cut', at: 17 }])
  const each = faultActionNames.map((action) => ({ action }))
  expect(parseFaultRules(each, 'x')).toEqual(each)
})

test.for<readonly [unknown, string]>([
  [{}, 'the fault rules must be a list.'],
  [null, 'the fault rules must be a list.'],
  [['reset'], 'rule 1: must be an object.'],
  [[{}], 'rule 1: action is required.'],
  [[{ action: 'rset' }], `rule 1: action must be one of ${faultActionNames.join(', ')}, not "rset".`],
  [
    [{ action: 'cut', at: 'mid-evnt' }],
    'rule 1: at must be one of before-body, before-headers, after-headers, mid-event, mid-character, before-terminal, after-terminal, not "mid-evnt".',
  ],
  [[{ action: 'cut', at: -1 }], 'rule 1: at must be at least 0, not -1.'],
  [[{ action: 'cut', probability: 2 }], 'rule 1: probability must be from 0 to 1, not 2.'],
  [[{ action: 'cut', nth: 1.5 }], 'rule 1: nth must be a whole number, not 1.5.'],
  [[{ action: 'status', status: 99 }], 'rule 1: status must be from 200 to 999, not 99.'],
  [[{ action: 'headers', headers: { 'bad name': 'x' } }], 'rule 1: headers.bad name is no header.'],
  [[{ action: 'headers', headers: { name: 'a\r\nb' } }], 'rule 1: headers.name is no header.'],
])('%j is refused with a clear message', ([value, message]) => {
  const error = errorOf(value)
  expect(error.message).toBe(`faults.yaml: ${message}`)
  expect(error.facts.hint).toBe('A rule is like { action: reset, at: mid-event }.')
})

test('all problems of all rules are told at once, and the fields are named', () => {
  const error = errorOf([{ action: 'nope' }, { action: 'cut', ms: -1, colour: 'red' }])
  expect(error).toMatchObject({ exitCode: 2, code: 'usage' })
  expect(error.message.split('\n')).toHaveLength(3)
  expect(error.message).toContain('colour is not a field of a rule: id, endpoint, model')
})
