import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Clock, Timer } from '../../src/context.ts'
import { main } from '../../src/main.ts'
import { expectNoCanary } from '../support/canary-key.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { expectPublished } from '../support/published-documents.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext, type TestContext, type TestOverrides } from '../support/test-context.ts'
import { until } from '../support/until.ts'

export interface RunningProgram extends Passing {
  readonly context: TestContext
  readonly clock: RecordingClock
  /** Home directory; the working directory is `project` in it. */
  readonly home: string
  readonly exitCode: Promise<number>
}

interface Passing {
  /** Lets the program go on until the condition holds. Fails when the program ends before that. */
  until(condition: () => boolean): Promise<void>
  /** Lets the program go on to its end, while each of its waits passes at once. */
  passWaits(): Promise<number>
}

interface StartOptions extends TestOverrides {
  /** Files in the home directory. */
  readonly files?: Readonly<Record<string, string>> | undefined
}

/**
 * Runs the whole program in this process, with everything around it in memory but the network and the files. It shows no
 * key of a test.
 */
export function startProgram(
  argv: readonly string[],
  { files = {}, ...overrides }: StartOptions = {},
): RunningProgram {
  const home = overrides.home ?? temporaryFolder()
  if (overrides.cwd === undefined) mkdirSync(join(home, 'project'), { recursive: true })
  writeFiles(home, files)
  const clock = recordingClock(overrides.clock ?? fakeClock())
  const context = testContext({ home, cwd: join(home, 'project'), ...overrides, clock })
  onTestFinished(() => {
    expectNoCanary('standard output', context.stdout.bytes)
    expectNoCanary('standard error', context.stderr.bytes)
    expectPublished(argv, { out: context.stdout.text, err: context.stderr.text })
  })
  const exitCode = main(argv, context)
  return { context, clock, home, exitCode, ...passing(clock, exitCode, () => context.stderr.text) }
}

/** What lets a program go on. @param said for the message when it ended too early */
export function passing(clock: RecordingClock, exitCode: Promise<number>, said: () => string): Passing {
  let ended = false
  const end = () => void (ended = true)
  exitCode.then(end, end)
  return {
    async until(condition) {
      await until(() => ended || condition())
      if (!condition()) throw new Error(`The program ended too early.\n${said()}`)
    },
    async passWaits() {
      const begun = clock.waits.length
      for (let passed = begun; ; passed++) {
        await until(() => ended || clock.waits.length > passed)
        if (ended) return await exitCode
        await clock.advance(clock.waits[passed]!)
      }
    },
  }
}

export interface RecordingClock extends FakeClock {
  /** Every time the program asked to be called back, in milliseconds from then. */
  readonly asked: readonly number[]
  /** Those of them that are pauses of the program, not limits. */
  readonly waits: readonly number[]
  /** Whether the program is in such a pause. */
  readonly isPausing: boolean
}

/** A clock that notes what it is asked for. */
export function recordingClock(clock: FakeClock): RecordingClock {
  const asked: number[] = []
  const waits: number[] = []
  const pauses = new Set<Timer>()
  const timer: Clock['timer'] = (ms, callback, label) => {
    asked.push(ms)
    if (label !== 'sleep') return clock.timer(ms, callback, label)
    waits.push(ms)
    const pause = clock.timer(ms, () => {
      pauses.delete(pause)
      callback()
    })
    pauses.add(pause)
    return {
      cancel() {
        pauses.delete(pause)
        pause.cancel()
      },
    }
  }
  return {
    asked,
    waits,
    timer,
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    advance: (ms) => clock.advance(ms),
    get isPausing() {
      return pauses.size > 0
    },
    get pendingTimers() {
      return clock.pendingTimers
    },
  }
}
