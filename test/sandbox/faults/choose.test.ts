import { expect, test } from 'vitest'
import { createFaultChooser } from '../../../src/sandbox/faults/choose.ts'
import type { FaultRule } from '../../../src/sandbox/faults/fault-rule.ts'
import type { RequestRecord } from '../../../src/sandbox/request-log.ts'

type FaultTarget = Pick<RequestRecord, 'endpoint' | 'model' | 'idempotencyKey'>

const target = { endpoint: 'responses', model: 'm', idempotencyKey: undefined } as FaultTarget

/** Which of so many requests a rule affects, counted from 1. */
function affectedBy(rule: Partial<FaultRule>, targets: readonly Partial<FaultTarget>[], seed = 1): number[] {
  const chooser = createFaultChooser([{ action: 'reset', ...rule }], seed)
  return targets.flatMap((some, index) => (chooser.afterBody({ ...target, ...some }) ? [index + 1] : []))
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
  const chooser = createFaultChooser(
    [
      { action: 'reset', nth: 1 },
      { action: 'stall', nth: 2 },
      { id: 'own', action: 'cut' },
    ],
    1,
  )
  expect([1, 2, 3].map(() => chooser.afterBody(target)?.id)).toEqual(['rule-1', 'rule-2', 'own'])
})

test('rules before the body are asked apart', () => {
  const chooser = createFaultChooser([{ action: 'reset', at: 'before-body' }, { action: 'cut' }], 1)
  expect(chooser.beforeBody(target)?.action).toBe('reset')
  expect(chooser.afterBody(target)?.action).toBe('cut')
})
