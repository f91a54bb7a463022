import { describe, expect, test } from 'vitest'
import {
  ContractError,
  FileError,
  GenerationError,
  Interrupted,
  ModelgateError,
  OutputClosed,
  UsageError,
  type ExitName,
} from '../src/errors.ts'

describe('amend', () => {
  test.each<[string, ModelgateError, unknown]>([
    ['ModelgateError', new ModelgateError('later', 'busy', 'Busy.'), ModelgateError],
    ['UsageError', new UsageError('Wrong.'), UsageError],
    ['FileError', new FileError('no_space', 'Full.'), FileError],
    ['ContractError', new ContractError('reply_too_deep', 'Deep.'), ContractError],
    ['GenerationError', new GenerationError('stream_error', 'Broken.'), GenerationError],
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
    const error = new ContractError('reply_too_deep', 'Deep.')
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
    const error = new ContractError('reply_too_deep', 'Deep.')
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
    const error = new ModelgateError('notSent', 'not_sent_dns', 'No such host.', { phase: 'connect' })
    const amended = error.amend({ exit, code: 'unreachable', billed: 'yes' })
    expect(amended).toBeInstanceOf(constructor)
    expect(amended).toMatchObject({ name, exit, code: 'unreachable', message: 'No such host.' })
    expect(amended.facts).toEqual({ phase: 'connect', billed: 'yes' })
  })

  test('leaves out a hint that is given as null', () => {
    const error = new FileError('no_space', 'Full.', { hint: 'Make room.' })
    expect(error.amend({ hint: null }).facts).toEqual({ phase: 'output' })
  })

  test('a cause that is added is the cause of the error, too', () => {
    const cause = new Error('reset')
    expect(new ContractError('reply_too_deep', 'Deep.').amend({ cause }).cause).toBe(cause)
  })
})
