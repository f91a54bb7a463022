import { main } from '../../src/main.ts'
import { systemClock } from '../../src/context.ts'
import { memorySink } from '../support/memory-sink.ts'
import { questionTerminal } from '../support/question-terminal.ts'
import { testContext } from '../support/test-context.ts'

/** A chat of many turns in this process: somebody types `Turn 1`, `Turn 2`, … and leaves. */
export async function longChat(
  words: readonly string[],
  turns: number,
  place: {
    readonly folder: string
    readonly env: Readonly<Record<string, string>>
    readonly signal: AbortSignal
  },
): Promise<{ readonly code: number; readonly said: string; readonly out: string }> {
  const terminal = questionTerminal()
  const { stream } = terminal.overrides.stderr
  const stderr = Object.assign(memorySink({ isTerminal: true }), { stream })
  const context = {
    ...testContext({ cwd: place.folder, home: place.folder, env: place.env, ...terminal.overrides }),
    stderr,
    stdout: memorySink({ isTerminal: true }),
    clock: systemClock,
    signal: place.signal,
  }
  const over = main(['chat', ...words], context)
  // What is typed during an answer is the next message.
  terminal.press(Array.from({ length: turns }, (_, at) => `Turn ${at + 1}\r`).join(''))
  terminal.press('/exit\r')
  const code = await over
  return { code, said: stderr.text, out: context.stdout.text }
}
