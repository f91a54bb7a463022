import { join } from 'node:path'
import { systemClock } from '../../src/context.ts'
import { fakeClock } from './fake-clock.ts'
import { runMain } from './run-main.ts'
import { runningSandbox } from './running-sandbox.ts'
import { temporaryFolder } from './temporary-folder.ts'
import type { TestOverrides } from './test-context.ts'

/** A machine with a gateway and a log; its folder is the working directory, with the state folder in it. */
export async function conversationMachine(env: Record<string, string> = {}) {
  const { url } = await runningSandbox()
  const folder = temporaryFolder()
  const base = {
    MODELGATE_BASE_URL: url,
    MODELGATE_API_KEY: 'some-key-0123',
    MODELGATE_TEXT_MODEL: 'sandbox-text',
    MODELGATE_STATE_DIR: join(folder, 'state'),
    MODELGATE_HISTORY: 'full',
    ...env,
  }
  /** A call in a process of its own, in the terminal `one` unless another is said. */
  const run = (words: readonly string[], more: TestOverrides = {}) =>
    runMain(words, {
      terminalId: 'one',
      cwd: folder,
      // Each call has an id and a time of its own.
      clock: { ...fakeClock({ random: Math.random }), now: systemClock.now },
      ...more,
      env: { ...base, ...more.env },
    })
  /** The body that a call would send, and what it says. */
  const bodyOf = async (words: readonly string[], more?: TestOverrides) => {
    const { out, err } = await run([...words, '--dry-run'], more)
    return { body: (JSON.parse(out) as { body: Record<string, unknown> }).body, err }
  }
  return { run, bodyOf, folder }
}
