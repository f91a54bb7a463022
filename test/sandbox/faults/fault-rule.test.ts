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
  [{}, 'faults.yaml: the fault rules must be a list.'],
  [null, 'faults.yaml: the fault rules must be a list.'],
  [['reset'], 'faults.yaml: rule 1: must be an object.'],
  [[{}], 'faults.yaml: rule 1: action is required.'],
  [[{ action: 'rset' }], 'faults.yaml: rule 1: action is not an action: rset (did you mean "reset"?).'],
  [[{ action: 'xylophone' }], 'faults.yaml: rule 1: action is not an action: xylophone.'],
  [
    [{ action: 'cut', at: 'mid-evnt' }],
    'faults.yaml: rule 1: at is not a point or a byte number: mid-evnt (did you mean "mid-event"?).',
  ],
  [[{ action: 'cut', at: -1 }], 'faults.yaml: rule 1: at must be at least 0.'],
  [
    [{ action: 'cut', endpoint: 'response' }],
    'faults.yaml: rule 1: endpoint is not an endpoint: response (did you mean "responses"?).',
  ],
  [[{ action: 'cut', probability: 2 }], 'faults.yaml: rule 1: probability must be from 0 to 1.'],
  [[{ action: 'cut', nth: 1.5 }], 'faults.yaml: rule 1: nth must be a whole number.'],
  [[{ action: 'status', status: 99 }], 'faults.yaml: rule 1: status must be at least 200.'],
  [
    [{ action: 'headers', headers: { 'bad name': 'x' } }],
    'faults.yaml: rule 1: headers.bad name is not a header name.',
  ],
  [
    [{ action: 'headers', headers: { name: 'a\r\nb' } }],
    'faults.yaml: rule 1: headers.name is not a header value.',
  ],
  [[{ action: 'cut', colour: 'red' }], 'faults.yaml: rule 1: colour is not a field of a rule.'],
])('%j is refused with a clear message', ([value, message]) => {
  expect(errorOf(value).message).toBe(message)
})

test.for<readonly [unknown, RegExp]>([
  [[{}], /^Actions are: status, html, /],
  [[{ action: 'nope' }], /^Actions are: status, html, /],
  [[{ action: 'cut', at: 'nope' }], /^Points are: before-body, .*a number of bytes\.$/],
  [[{ action: 'cut', endpoint: 'nope' }], /^Endpoints are: generate-content, responses, /],
  [[{ action: 'cut', colour: 'red' }], /^Fields are: id, endpoint, .*accepted\.$/],
  [[{ action: 'cut', at: 'nope', colour: 'red' }], /^Points are: .*\nFields are: /],
  [[{ action: 'cut', at: -1 }], /^$/],
  [[{ action: 'cut', nth: 0 }], /^$/],
  [['cut'], /^A rule is like \{ action: reset, at: mid-event \}\.$/],
  [{ action: 'cut' }, /^A rule is like \{ action: reset, at: mid-event \}\.$/],
])('%j is refused with the hint that fits', ([value, hint]) => {
  expect(errorOf(value).facts.hint ?? '').toMatch(hint)
})

test('all problems of all rules are told at once, and the actions are named', () => {
  const error = errorOf([{ action: 'nope' }, { action: 'cut', ms: -1, size: 0 }])
  expect(error).toMatchObject({ exitCode: 2, code: 'invalid_fault_rules' })
  expect(error.message.split('\n')).toHaveLength(3)
  expect(error.facts.hint).toContain('drop-terminal')
})
