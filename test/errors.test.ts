import { describe, expect, test } from 'vitest'
import {
  AlreadyReported,
  asModelgateError,
  asSentence,
  billedByFacts,
  billedOf,
  ConfigError,
  ContractError,
  exitCodes,
  FileError,
  GenerationError,
  Interrupted,
  isExitName,
  ModelgateError,
  OutputClosed,
  saysNotCharged,
  UsageError,
  type ErrorFacts,
  type ExitName,
} from '../src/errors.ts'

describe('amend', () => {
  test.each<[string, ModelgateError, unknown]>([
    ['ModelgateError', new ModelgateError('later', 'timeout', 'Busy.'), ModelgateError],
    ['UsageError', new UsageError('Wrong.'), UsageError],
    ['FileError', new FileError('no_space', 'Full.'), FileError],
    ['ContractError', new ContractError('reply_not_understood', 'Deep.'), ContractError],
    ['GenerationError', new GenerationError('error_in_reply', 'Broken.'), GenerationError],
    ['Interrupted', new Interrupted('terminate'), Interrupted],
    ['OutputClosed', new OutputClosed(), OutputClosed],
  ])('keeps the class %s', (name, error, constructor) => {
    const amended = error.amend({ message: 'Other words.', remoteId: 'video_1' })
    expect(amended).toBeInstanceOf(constructor)
    expect(amended).toMatchObject({ name, exit: error.exit, code: error.code, exitCode: error.exitCode })
    expect(amended).toMatchObject({ message: 'Other words.', facts: { remoteId: 'video_1' } })
    expect(String(amended)).toBe(`${name}: Other words.`)
  })

  test('leaves the error itself as it was', () => {
    const error = new ContractError('reply_not_understood', 'Deep.')
    error.amend({ message: 'Deeper.', billed: 'yes' })
    expect(error).toMatchObject({ message: 'Deep.', facts: { phase: 'reply', billed: 'maybe' } })
  })

  test('keeps what is not given, or given as undefined', () => {
    const cause = new Error('the disk')
    const error = new FileError('no_space', 'Full.', { hint: 'Make room.', billed: 'no', cause })
    const amended = error.amend({ message: undefined, hint: undefined, billed: 'yes' })
    expect(amended).toMatchObject({ message: 'Full.', cause })
    expect(amended.facts).toEqual({ phase: 'output', hint: 'Make room.', billed: 'yes', cause })
  })

  test('adds only what is not known when its own facts follow', () => {
    const error = new ContractError('reply_not_understood', 'Deep.')
    expect(error.amend({ billed: 'no', requestId: 'r', ...error.facts }).facts).toEqual({
      phase: 'reply',
      billed: 'maybe',
      requestId: 'r',
    })
  })

  test.each<[ExitName, string, unknown]>([
    ['usage', 'UsageError', UsageError],
    ['io', 'FileError', FileError],
    ['contract', 'ContractError', ContractError],
    ['failed', 'GenerationError', GenerationError],
    ['later', 'ModelgateError', ModelgateError],
  ])('gives an error that comes to end in %s the class %s', (exit, name, constructor) => {
    const error = new ModelgateError('notSent', 'not_sent', 'No such host.', { phase: 'connect' })
    const amended = error.amend({ exit, code: 'not_sent_tls', billed: 'maybe' })
    expect(amended).toBeInstanceOf(constructor)
    expect(amended).toMatchObject({ name, exit, code: 'not_sent_tls', message: 'No such host.' })
    expect(amended.facts).toEqual({ phase: 'connect', billed: 'maybe' })
  })

  // A script repeats the call after 5 and 6.
  test.each(['later', 'notSent'] as const)('of what was billed never ends in %s', (exit) => {
    const error = new ModelgateError(exit, 'timeout', 'Busy.')
    expect(error.amend({ billed: 'yes' }).exitCode).toBe(11)
    expect(new ModelgateError(exit, 'timeout', 'Busy.', { billed: 'yes' }).exitCode).toBe(11)
    expect(new ModelgateError('io', 'no_space', 'Full.', { billed: 'yes' }).amend({ exit }).exitCode).toBe(11)
  })

  test('leaves out a hint that is given as null', () => {
    const error = new FileError('no_space', 'Full.', { hint: 'Make room.' })
    expect(error.amend({ hint: null }).facts).toEqual({ phase: 'output' })
  })

  test('a cause that is added is the cause of the error, too', () => {
    const cause = new Error('reset')
    expect(new ContractError('reply_not_understood', 'Deep.').amend({ cause }).cause).toBe(cause)
  })
})

// Scripts branch on these numbers (docs/exit-codes.md): none is ever given another meaning.
test('the exit codes', () => {
  expect(Object.entries(exitCodes).map(([name, { code }]) => [name, code])).toEqual([
    ['ok', 0],
    ['bug', 1],
    ['usage', 2],
    ['key', 3],
    ['rejected', 4],
    ['later', 5],
    ['notSent', 6],
    ['unknown', 7],
    ['contract', 8],
    ['failed', 9],
    ['io', 10],
    ['running', 11],
    ['partial', 12],
    ['outdated', 13],
    ['schema', 14],
    ['limit', 15],
    ['hangup', 129],
    ['interrupt', 130],
    ['terminate', 143],
  ])
})

test('each exit code says what it means, and most of them what to do', () => {
  const silent = Object.entries(exitCodes).filter(([, { meaning }]) => !/^[`\w].{3,}/s.test(meaning))
  expect(silent).toEqual([])
  const noAdvice = Object.entries(exitCodes).filter(([, { advice }]) => advice === '')
  expect(noAdvice.map(([name]) => name)).toEqual(['ok', 'schema', 'hangup', 'interrupt', 'terminate'])
})

test.each([
  ['later', true],
  ['ok', true],
  ['toString', false],
  ['', false],
  [['later'], false],
  [7, false],
  [undefined, false],
])('%j as the name of an exit: %s', (name, isName) => {
  expect(isExitName(name)).toBe(isName)
})

test('facts that are undefined are left out', () => {
  const error = new ModelgateError('later', 'timeout', 'Busy.', { requestId: undefined, httpStatus: 429 })
  expect(Object.keys(error.facts)).toEqual(['httpStatus'])
  expect(error.cause).toBeUndefined()
})

test('another hint takes the command to run next with it, other facts do not', () => {
  const error = new ModelgateError('later', 'timeout', 'Busy.', {
    hint: 'Wait.',
    next: ['modelgate', 'wait'],
  })
  expect(error.amend({ billed: 'no' }).facts.next).toEqual(['modelgate', 'wait'])
  expect(error.amend({ hint: 'Stop.' }).facts).toEqual({ hint: 'Stop.' })
  expect(error.amend({ hint: null }).facts).toEqual({})
  expect(error.amend({ hint: 'Stop.', next: ['modelgate', 'stop'] }).facts.next).toEqual([
    'modelgate',
    'stop',
  ])
})

test('the same exit keeps the class', () => {
  expect(new Interrupted('hangup').amend({ exit: 'hangup' })).toBeInstanceOf(Interrupted)
  expect(new OutputClosed().amend({ exit: 'later' })).not.toBeInstanceOf(OutputClosed)
  expect(new UsageError('Wrong.').amend({ exit: 'later' }).name).toBe('ModelgateError')
})

test.each<[ModelgateError, object]>([
  [
    new UsageError(['One.', 'Two.']),
    { exitCode: 2, code: 'usage', message: 'One.\nTwo.', facts: { phase: 'input', billed: 'no' } },
  ],
  [
    new UsageError('One.', { code: 'timeout', phase: 'config' }),
    { code: 'timeout', facts: { phase: 'config' } },
  ],
  [
    new ConfigError('Wrong.'),
    { exitCode: 2, code: 'config_invalid', facts: { phase: 'config', billed: 'no' } },
  ],
  [new ConfigError('Wrong.', { code: 'timeout' }), { code: 'timeout' }],
  [new FileError('no_space', 'Full.'), { exitCode: 10, facts: { phase: 'output' } }],
  [new FileError('no_space', 'Full.', { phase: 'input' }), { facts: { phase: 'input' } }],
  [new ContractError('timeout', 'No.'), { exitCode: 8, facts: { phase: 'reply', billed: 'maybe' } }],
  [new ContractError('timeout', 'No.', { billed: 'no' }), { facts: { phase: 'reply', billed: 'no' } }],
  [new GenerationError('timeout', 'No.'), { exitCode: 9, facts: { phase: 'result', billed: 'maybe' } }],
  [
    new GenerationError('timeout', 'No.', { phase: 'stream' }),
    { facts: { phase: 'stream', billed: 'maybe' } },
  ],
  [
    new OutputClosed(),
    {
      exitCode: 0,
      code: 'interrupted',
      message: 'standard output was closed by its reader',
      facts: { phase: 'output' },
    },
  ],
  [new Interrupted('hangup'), { exitCode: 129, code: 'interrupted', message: 'Hung up.' }],
  [new Interrupted('interrupt'), { exitCode: 130, code: 'interrupted', message: 'Stopped.' }],
  [
    new Interrupted('terminate'),
    { exitCode: 143, message: 'Terminated.', isExpected: false, cleanUpMs: 1000 },
  ],
])('%s says of itself %o', (error, expected) => {
  expect(error).toMatchObject(expected)
})

describe('whether a call may have cost money', () => {
  const failed = (exit: ExitName, facts: ErrorFacts = {}, message = 'No.') =>
    new ModelgateError(exit, 'timeout', message, facts)

  test('is what the error says', () => {
    for (const billed of ['no', 'maybe', 'yes'] as const) {
      expect(billedByFacts(failed('usage', { billed }))).toBe(billed)
      expect(billedOf(failed('unknown', { billed }))).toBe(billed)
    }
  })

  test.each(['usage', 'key', 'rejected', 'later', 'notSent', 'hangup', 'interrupt', 'terminate'] as const)(
    'is otherwise no for %s',
    (exit) => expect(billedByFacts(failed(exit))).toBe('no'),
  )

  test.each(['unknown', 'contract', 'failed', 'io', 'running', 'partial', 'bug', 'schema'] as const)(
    'is otherwise maybe for %s, once something was sent',
    (exit) => {
      expect(billedByFacts(failed(exit))).toBe('maybe')
      for (const phase of ['send', 'wait', 'reply', 'stream', 'result', 'output'] as const) {
        expect(billedByFacts(failed(exit, { phase }))).toBe('maybe')
      }
      for (const phase of ['input', 'config', 'connect'] as const) {
        expect(billedByFacts(failed(exit, { phase }))).toBe('no')
      }
    },
  )

  test.each([
    ['You were not charged.', true],
    ['You have not been billed for it.', true],
    ['This will never be charged.', true],
    ['You will NOT BE BILLED.', true],
    ['You are charged.', false],
    ['It was not overcharged.', false],
    ['Not chargedable.', false],
    ['knot charged', false],
  ])('the gateway says it in words: %s', (message, says) => {
    expect(saysNotCharged({ message })).toBe(says)
    expect(billedOf(failed('unknown', {}, message))).toBe(says ? 'no' : 'maybe')
    expect(billedByFacts(failed('unknown', {}, message))).toBe('maybe')
  })
})

test('what has been reported passes on the exit code, and nothing else', () => {
  const error = new ModelgateError('later', 'timeout', 'Busy.')
  const reported = new AlreadyReported(error)
  expect(reported).toMatchObject({ name: 'AlreadyReported', exitCode: 5, message: 'Busy.', cause: error })
})

describe('what nobody expected', () => {
  test('is a bug, whose stack only --debug shows', () => {
    const cause = new TypeError('x is undefined')
    const bug = asModelgateError(cause, false)
    expect(bug).toMatchObject({
      exitCode: 1,
      code: 'internal_error',
      message: 'This is a bug in modelgate: x is undefined',
      cause,
      facts: { hint: 'Please report it with what --debug prints; check it for private data first.' },
    })
    expect(asModelgateError(cause, true).message).toContain('errors.test.ts')
    expect(asModelgateError('text', true).message).toBe('This is a bug in modelgate: text')
  })

  test('is not an error of ours', () => {
    const error = new FileError('no_space', 'Full.')
    expect(asModelgateError(error, true)).toBe(error)
  })
})

test.each([
  ['No', 'No.'],
  ['No.', 'No.'],
  ['No!', 'No.'],
  ['No?', 'No.'],
  ['No...', 'No...'],
  ['A.b', 'A.b.'],
  ['', '.'],
])('%j as a sentence: %j', (text, sentence) => {
  expect(asSentence(text)).toBe(sentence)
})
