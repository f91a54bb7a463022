import { expect, test } from 'vitest'
import type { ModelgateError } from '../../../src/errors.ts'
import { faultActionNames } from '../../../src/sandbox/faults/actions.ts'
import { createFaultChooser, parseFaultRules } from '../../../src/sandbox/faults/fault-rule.ts'
import type { RequestRecord } from '../../../src/sandbox/request-log.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'

const errorOf = (value: unknown): ModelgateError => {
  try {
    parseFaultRules(value, 'faults.yaml')
  } catch (error) {
    return error as ModelgateError
  }
  throw new Error('The rules were accepted.')
}

test('every field of a rule is read', () => {
  const when = { endpoint: 'responses', model: 'm', attempt: 1, nth: 2, times: 3, probability: 0.5 }
  const what = { action: 'status', at: 'mid-event', event: 4, status: 429, headers: { 'retry-after': 2 } }
  const how = { body: { any: 'thing' }, value: 'text/plain', size: 5, ms: 0, accepted: true }
  const rule = { id: 'busy', ...when, ...what, ...how }
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

type FaultTarget = Pick<RequestRecord, 'endpoint' | 'model' | 'idempotencyKey'>

const target = { endpoint: 'responses', model: 'm', idempotencyKey: undefined } as FaultTarget

/** Which of so many requests a rule affects, counted from 1. */
function affectedBy(rule: Partial<FaultRule>, targets: readonly Partial<FaultTarget>[], seed = 1): number[] {
  const choose = createFaultChooser([{ action: 'reset', ...rule }], seed)
  return targets.flatMap((some, index) => (choose({ ...target, ...some }, false) ? [index + 1] : []))
}

const five = Array.from({ length: 5 }, () => ({}))

test('a rule without conditions applies always, others by endpoint and model', () => {
  expect(affectedBy({}, five)).toEqual([1, 2, 3, 4, 5])
  const mixed = [{ endpoint: 'generate-content' }, { endpoint: 'responses' }] as const
  expect(affectedBy({ endpoint: 'generate-content' }, mixed)).toEqual([1])
  expect(affectedBy({ model: 'a' }, [{ model: 'a' }, { model: 'b' }, { model: undefined }])).toEqual([1])
})

test('nth counts matching requests, times limits how often it applies', () => {
  expect(affectedBy({ nth: 3 }, five)).toEqual([3])
  expect(affectedBy({ nth: 2, model: 'a' }, [{ model: 'a' }, { model: 'b' }, { model: 'a' }])).toEqual([3])
  expect(affectedBy({ times: 2 }, five)).toEqual([1, 2])
})

test('attempt counts requests with the same idempotency key', () => {
  const keys = ['a', 'a', 'b', 'b', 'a'].map((idempotencyKey) => ({ idempotencyKey }))
  expect(affectedBy({ attempt: 1 }, keys)).toEqual([1, 3])
  expect(affectedBy({ attempt: 2 }, keys)).toEqual([2, 4])
  expect(affectedBy({ attempt: 2 }, five)).toEqual([2])
})

test('probability is drawn from the seed', () => {
  const many = Array.from({ length: 1000 }, () => ({}))
  const affected = affectedBy({ probability: 0.3 }, many)
  expect(affected.length).toBeGreaterThan(240)
  expect(affected.length).toBeLessThan(360)
  expect(affectedBy({ probability: 0.3 }, many)).toEqual(affected)
  expect(affectedBy({ probability: 0.3 }, many, 2)).not.toEqual(affected)
  expect(affectedBy({ probability: 0 }, five)).toEqual([])
})

test('the first rule that is due applies, and the others count on', () => {
  const counted: FaultRule[] = [
    { action: 'reset', nth: 1 },
    { action: 'stall', nth: 2 },
  ]
  const choose = createFaultChooser([...counted, { id: 'own', action: 'cut' }], 1)
  expect([1, 2, 3].map(() => choose(target, false)?.id)).toEqual(['rule-1', 'rule-2', 'own'])
})

test('rules before the body are asked apart', () => {
  const choose = createFaultChooser([{ action: 'reset', at: 'before-body' }, { action: 'cut' }], 1)
  expect(choose(target, true)?.action).toBe('reset')
  expect(choose(target, false)?.action).toBe('cut')
})
