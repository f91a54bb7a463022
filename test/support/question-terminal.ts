import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { memorySink } from './memory-sink.ts'
import { pipedInput } from './piped-input.ts'
import type { TestOverrides } from './test-context.ts'
import { until } from './until.ts'

/** Somebody at a terminal, which is a pair of streams, who can be asked. */
export function questionTerminal() {
  const keys = new PassThrough()
  const screen = new PassThrough()
  // As with a real terminal, the end of a question is not its end.
  screen.end = () => screen
  let shown = ''
  screen.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  return {
    /** For `testContext`. */
    overrides: {
      stdin: { ...pipedInput('terminal'), stream: keys as unknown as NodeJS.ReadStream },
      stderr: { ...memorySink({ isTerminal: true }), stream: screen as unknown as NodeJS.WriteStream },
    },
    /** Waits until the screen shows a text, so that no key is pressed too early. */
    until: (text: string) => until(() => stripVTControlCharacters(shown).includes(text)),
    press: (text: string) => keys.write(text),
    /** All that was written to the screen so far. */
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
