import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Input } from '../../src/context.ts'
import { memorySink, type MemorySink } from './memory-sink.ts'
import { pipedInput } from './piped-input.ts'
import type { TestOverrides } from './test-context.ts'
import { until } from './until.ts'

/** Somebody at a terminal who can be asked. */
export interface QuestionTerminal {
  /** For `testContext`. */
  readonly overrides: { readonly stdin: Input; readonly stderr: MemorySink }
  /** Waits until the screen shows a text, so that no key is pressed too early. */
  until(text: string): Promise<void>
  press(keys: string): void
  /** All that was written to the screen so far. */
  shown(): string
  /** The terminal is closed. */
  hangUp(): void
}

/** A terminal that is a pair of streams. */
export function questionTerminal(): QuestionTerminal {
  const keys = new PassThrough()
  const screen = new PassThrough()
  // As with a real terminal, the end of a question is not its end.
  screen.end = () => screen
  let shown = ''
  screen.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  return {
    overrides: {
      stdin: { ...pipedInput('terminal'), stream: keys as unknown as NodeJS.ReadStream },
      stderr: { ...memorySink({ isTerminal: true }), stream: screen as unknown as NodeJS.WriteStream },
    },
    until: (text) => until(() => stripVTControlCharacters(shown).includes(text)),
    press: (text) => keys.write(text),
    shown: () => shown,
    hangUp: () => keys.end(),
  }
}

/** A terminal on which this is typed; nobody is at it unless told. */
export function typedTerminal(typed?: string): TestOverrides {
  const keys = new PassThrough()
  if (typed === undefined) keys.end()
  else keys.write(typed)
  const screen = Object.assign(memorySink({ isTerminal: true }), { stream: new PassThrough().resume() })
  return {
    stdin: { kind: 'terminal', consumed: 'none', async *read() {}, release() {}, stream: keys as never },
    stderr: screen as never,
  }
}
