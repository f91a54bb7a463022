import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  claimStandardInput,
  readStandardInputBytes,
} from '../../../../src/commands/shared/input/standard-input.ts'
import type { CommonOptions } from '../../../../src/commands/shared/options/common-options.ts'
import { readPrompt } from '../../../../src/commands/shared/request/text-prompt.ts'
import type { Settings } from '../../../../src/config/settings.ts'
import type { Input, InputKind } from '../../../../src/context.ts'
import { Interrupted } from '../../../../src/errors.ts'
import { anyText } from '../../../support/any-text.ts'
import { memorySink } from '../../../support/memory-sink.ts'
import { pipedInput } from '../../../support/piped-input.ts'
import { testContext, type TestContext } from '../../../support/test-context.ts'
import { runs } from '../../../support/sample.ts'

interface Given extends Partial<CommonOptions> {
  argument?: string | undefined
  isForbidden?: boolean
  joins?: boolean
}

function read(context: TestContext, { argument, isForbidden = false, joins = true, ...given }: Given = {}) {
  const settings = { noStdin: { value: isForbidden }, quiet: { value: false } } as Settings
  const options = { stdin: true, validate: true, ...given }
  return readPrompt({ context, options, settings, modelKind: joins ? 'text' : 'image' }, argument)
}

/** Starts reading; the notices are collected. */
function start(stdin: Input | string | Uint8Array, given: Given = {}) {
  const notices: string[] = []
  const write = (line: string | Uint8Array) => void notices.push(/^modelgate: (.*)/.exec(String(line))![1]!)
  const context = testContext({ stdin, stderr: { ...memorySink(), write } })
  const prompt = read(context, given)
  // A rejection is looked at later.
  prompt.catch(() => {})
  return { context, notices, prompt, clock: context.clock }
}

const prompt = async (...given: Parameters<typeof start>) => await start(...given).prompt

test('the prompt comes from the command line, from standard input, or from both', async () => {
  expect(await prompt('piped\n')).toBe('piped\n')
  expect(await prompt('piped\n', { argument: '-' })).toBe('piped\n')
  expect(await prompt('piped', { argument: 'asked' })).toBe('piped\n\nasked')
  expect(await prompt('piped\n', { argument: 'asked' })).toBe('piped\n\nasked')
  expect(await prompt('piped\n\n\n', { argument: 'asked' })).toBe('piped\n\n\nasked')
  expect(await prompt('', { argument: 'asked' })).toBe('asked')
  expect(await prompt(' \n', { argument: 'asked' })).toBe('asked')
  expect(await prompt('', { argument: '-' })).toBe('')
})

test.each<InputKind>(['terminal', 'empty'])(
  'a %s is not read beside a prompt or without one',
  async (kind) => {
    const inputs = [pipedInput(kind), pipedInput(kind)] as const
    expect(await prompt(inputs[0], { argument: 'asked' })).toBe('asked')
    expect(await prompt(inputs[1])).toBeUndefined()
    expect(inputs.map(({ reads }) => reads)).toEqual([0, 0])
  },
)

test('a terminal is read to its end when "-" asks for it; nothing stands behind a closed input', async () => {
  const stdin = pipedInput('terminal')
  stdin.send('typed\n')
  stdin.end()
  expect(await prompt(stdin, { argument: '-' })).toBe('typed\n')
  expect(await prompt(pipedInput('empty'), { argument: '-' })).toBe('')
})

test('--no-stdin reads nothing, and contradicts "-"', async () => {
  const stdin = pipedInput()
  expect(await prompt(stdin, { argument: 'asked', stdin: false })).toBe('asked')
  expect(await prompt(stdin, { stdin: false })).toBeUndefined()
  expect(stdin.reads).toBe(0)
  await expect(prompt(stdin, { argument: '-', stdin: false })).rejects.toMatchObject({
    exitCode: 2,
    message: 'The prompt "-" reads standard input, which --no-stdin forbids.',
  })
})

test('a setting of the same kind reads nothing, unless "-" asks for it', async () => {
  const stdin = pipedInput()
  expect(await prompt(stdin, { argument: 'asked', isForbidden: true })).toBe('asked')
  expect(await prompt(stdin, { isForbidden: true })).toBeUndefined()
  expect(stdin.reads).toBe(0)
  expect(await prompt('piped', { argument: '-', isForbidden: true })).toBe('piped')
})

test.each([
  ['pipe', 'a', 'Joined 1 byte of standard input'],
  ['pipe', 'grün\n', 'Joined 6 bytes of standard input'],
  ['file', 'grün\n', 'Joined 6 bytes of the file on standard input'],
] as const)('what is joined from a %s is said, and how a loop avoids it: %j', async (kind, text, note) => {
  const stdin = pipedInput(kind)
  stdin.send(text)
  stdin.end()
  const { notices, prompt: reading } = start(stdin, { argument: 'asked' })
  await reading
  expect(notices).toEqual([`${note} (in a loop: --no-stdin).`])
  // With the name of the program in front it fits a line of a terminal.
  expect(`modelgate: ${notices[0]}`.length).toBeLessThanOrEqual(80)
})

test('a file that somebody has begun to read is left alone beside a prompt, with a note', async () => {
  const stdin = pipedInput('file', 'some')
  const { notices, prompt: reading } = start(stdin, { argument: 'asked' })
  expect([await reading, stdin.reads]).toEqual(['asked', 0])
  expect(notices).toEqual([expect.stringMatching(/^Standard input was left unread: .*--no-stdin/)])
})

test('a file that somebody has read to its end is left alone, and nothing is lost that had to be said', async () => {
  const stdin = pipedInput('file', 'all')
  const { notices, prompt: reading } = start(stdin, { argument: 'asked' })
  expect([await reading, stdin.reads, notices]).toEqual(['asked', 0, []])
})

test.each([undefined, '-'])('what is left of a file is read for the prompt %j', async (argument) => {
  const stdin = pipedInput('file', 'some')
  stdin.send('the rest')
  stdin.end()
  expect(await prompt(stdin, { argument })).toBe('the rest')
})

test('a command that does not join reads standard input only in place of a prompt', async () => {
  const stdin = pipedInput()
  const { notices, prompt: reading } = start(stdin, { argument: 'asked', joins: false })
  expect([await reading, stdin.reads, notices]).toEqual(['asked', 0, []])
  expect(await prompt('piped', { joins: false })).toBe('piped')
  expect(await prompt('piped', { argument: '-', joins: false })).toBe('piped')
})

test('beside a prompt, a silent pipe is noticed after one second and given up after 180', async () => {
  const stdin = pipedInput()
  const { clock, notices, prompt: reading } = start(stdin, { argument: 'asked' })
  await clock.advance(999)
  expect(notices).toEqual([])
  await clock.advance(1)
  expect(notices).toHaveLength(1)
  for (const way of ['"-"', '--no-stdin', 'MODELGATE_NO_STDIN=1', '</dev/null', '--stdin-timeout'])
    expect(notices[0]).toContain(way)
  await clock.advance(178_999)
  expect(stdin.releases).toBe(0)
  await clock.advance(1)
  await expect(reading).rejects.toMatchObject({
    exitCode: 2,
    code: 'input_silent',
    message: expect.stringContaining('180 s'),
    facts: { hint: expect.stringContaining('--no-stdin'), billed: 'no' },
  })
  expect(stdin.releases).toBe(1)
  expect(notices).toHaveLength(1)
  expect(clock.pendingTimers).toBe(0)
})

test('the time-out can be set, as short as the notice or shorter, or to for ever', async () => {
  for (const stdinTimeout of [0.5, 1]) {
    const short = start(pipedInput(), { argument: 'asked', stdinTimeout })
    await short.clock.advance(stdinTimeout * 1000)
    await expect(short.prompt).rejects.toMatchObject({ code: 'input_silent' })
    expect(short.notices).toEqual([])
  }

  const stdin = pipedInput()
  const endless = start(stdin, { argument: 'asked', stdinTimeout: 0 })
  await endless.clock.advance(1e9)
  expect(endless.notices).toEqual([expect.stringMatching(/^Waiting /)])
  stdin.send('late')
  stdin.end()
  expect(await endless.prompt).toBe('late\n\nasked')
})

test('once a byte has come it is read to the end, however slow', async () => {
  const stdin = pipedInput()
  const { clock, notices, prompt: reading } = start(stdin, { argument: 'asked' })
  await clock.advance(900)
  stdin.send('a')
  await clock.advance(1e9)
  stdin.send('b')
  stdin.end()
  expect(await reading).toBe('ab\n\nasked')
  expect(notices).toEqual([expect.stringContaining('Joined 2 bytes')])
  expect(stdin.releases).toBe(1)
})

test('without a prompt, with "-", or from a file there is no time-out', async () => {
  for (const [kind, argument] of [
    ['pipe', undefined],
    ['pipe', '-'],
    ['file', 'asked'],
  ] as const) {
    const stdin = pipedInput(kind)
    const { clock, notices, prompt: reading } = start(stdin, { argument })
    await clock.advance(1e9)
    expect(clock.pendingTimers).toBe(0)
    stdin.send('late')
    stdin.end()
    expect(await reading).toContain('late')
    const isToldOf = kind === 'pipe' && argument === undefined
    expect(notices.filter((line) => line.startsWith('Waiting'))).toEqual(
      isToldOf ? ['Waiting for the prompt on standard input, an open pipe.'] : [],
    )
  }
})

test('Ctrl-C ends the reading and releases standard input', async () => {
  const stdin = pipedInput()
  const { context, prompt: reading } = start(stdin)
  context.abort(new Interrupted('interrupt'))
  await expect(reading).rejects.toMatchObject({ exitCode: 130 })
  expect(stdin.releases).toBe(1)
  await expect(read(context, { argument: '-' })).rejects.toMatchObject({ code: 'usage' })
})

test('an input that cannot be read is a file error', async () => {
  const stdin = pipedInput()
  const { prompt: reading } = start(stdin)
  stdin.fail(Object.assign(new Error('is a directory'), { code: 'EISDIR' }))
  await expect(reading).rejects.toMatchObject({
    exitCode: 10,
    code: 'read_failed',
    message: 'Standard input cannot be read: EISDIR.',
    cause: { code: 'EISDIR' },
    facts: { phase: 'input' },
  })
})

test('any cut into chunks gives the same text', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyText(),
      fc.array(fc.nat(64)),
      fc.constantFrom('utf8', 'utf16le'),
      async (text, sizes, encoding) => {
        const whole = Buffer.from(`\uFEFF${text}`, encoding as BufferEncoding)
        const stdin = pipedInput()
        let at = 0
        for (const size of sizes) stdin.send(whole.subarray(at, (at += size)))
        stdin.send(whole.subarray(at))
        stdin.end()
        expect(await prompt(stdin)).toBe(text)
      },
    ),
    runs(500),
  )
})

test('what is no text is refused with the place, and never shown', async () => {
  const secret = Buffer.concat([Buffer.from('secret '), Buffer.from([0x80])])
  await expect(prompt(secret, { argument: 'asked' })).rejects.toMatchObject({
    exitCode: 2,
    code: 'wrong_type',
    message: 'Standard input is not UTF-8 text (byte 0x80 at offset 7).',
    // Each command has a flag of its own for what is not text.
    facts: { hint: expect.stringMatching(/-a - .*--image -/) },
  })
})

/** The same megabyte again and again, as a fast pipe. */
function megabytes(count: number): Input {
  const megabyte = Buffer.alloc(1024 * 1024, 'abc\n')
  return {
    ...pipedInput(),
    async *read() {
      for (let sent = 0; sent < count; sent++) yield megabyte
    },
  }
}

test('more than 256 MiB are refused with the number, before the end', async () => {
  await expect(prompt(megabytes(1e9))).rejects.toMatchObject({
    exitCode: 2,
    code: 'file_too_large',
    message: 'Standard input is larger than 256 MiB, the most that can be sent.',
    facts: { hint: 'Send less, in several calls.' },
  })
})

test('two that want standard input are both named', async () => {
  const context = testContext({ stdin: 'once' })
  expect((await readStandardInputBytes(context, '--tools @-')).toString()).toBe('once')
  await expect(readStandardInputBytes(context, '-a -')).rejects.toMatchObject({
    exitCode: 2,
    code: 'usage',
    message: 'Standard input can be read only once, but both --tools @- and -a - want it.',
    facts: { hint: 'Put one of them in a file: @FILE.' },
  })
  expect(() => claimStandardInput(context, '--tools @-')).toThrow('--tools @- is given twice')
})

test('a prompt does not join an input that a flag has taken', async () => {
  const context = testContext({ stdin: '{}' })
  await readStandardInputBytes(context, '--tools @-')
  expect(await read(context, { argument: 'asked' })).toBe('asked')
  expect(await read(context)).toBeUndefined()
})
