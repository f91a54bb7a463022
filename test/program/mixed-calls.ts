import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../src/context.ts'
import { Interrupted } from '../../src/errors.ts'
import { main } from '../../src/main.ts'
import type { FaultRule } from '../../src/sandbox/start-sandbox.ts'
import { memorySink, type MemorySink } from '../support/memory-sink.ts'
import { testContext } from '../support/test-context.ts'

/** How the gateway fails for some models. */
export const mixedFaults: readonly FaultRule[] = [
  { id: 'later', action: 'status', status: 503, headers: { 'retry-after': '0' }, model: 'later', attempt: 1 },
  { id: 'refused', action: 'status', status: 400, model: 'refused' },
  { id: 'reset', action: 'reset', model: 'reset' },
  { id: 'broken', action: 'close', model: 'broken' },
  { id: 'bad-chunk', action: 'bad-chunk', model: 'bad-chunk' },
  { id: 'silent', action: 'stall', at: 'before-terminal', model: 'silent' },
]

/** A call, its exit code, and whether the user stops it at its first word. */
type Kind = readonly [words: readonly string[], code: number, stops?: 'stops']

const text = ['generate', 'respond'] as const
const kinds: readonly Kind[] = [
  ...text.flatMap((command): Kind[] => [
    [[command, '-m', 'sandbox-text', 'Say hello'], 0],
    [[command, '-m', 'sandbox-text', '--json', 'Say hello'], 0],
    [[command, '-m', 'sandbox-text', '--raw', 'Say hello'], 0],
    [[command, '-m', 'sandbox-text', '-o', 'text.txt', '--force', 'Say hello'], 0],
    [[command, '-m', 'later', 'Say hello'], 0],
    [[command, '-m', 'refused', 'Say hello'], 4],
    [[command, '-m', 'broken', 'Say hello'], 7],
    [[command, '-m', 'bad-chunk', 'Say hello'], 8],
    [[command, '-m', 'silent', 'Say hello'], 130, 'stops'],
    [[command, '-m', 'sandbox-text', '--base-url', 'http://127.0.0.1:2', '--max-retries', '0', 'Hi'], 6],
  ]),
  [['respond', '-m', 'reset', '--max-retries', '0', 'Say hello'], 7],
  [['image', 'create', '-m', 'sandbox-image', '-o', 'dot.png', '--force', 'A dot'], 0],
  [['image', 'create', '-m', 'sandbox-image', '--stream', '-o', 'dot.png', '--force', 'A dot'], 0],
  // By its address: a second request.
  ['image create -m image-model-b --response-format url -o dot.png --force Dot'.split(' '), 0],
  [['image', 'create', '-m', 'refused', '-o', 'dot.png', '--force', 'A dot'], 4],
  [['models'], 0],
  [['generate', '-m', 'sandbox-text', '--nonsense', 'x'], 2],
]
/** Half a second each. */
const video: Kind = [
  'video generate -m sandbox-video --poll-interval 0.1 --wait -o a.mp4 --force Dot'.split(' '),
  0,
]
const videoEvery = 100

/** What this process keeps of its calls. */
export interface MixedCalls {
  /** Makes so many calls, some at once. @throws for an exit code that should be another */
  make(count: number): Promise<void>
  /** The signal of all calls but those that are stopped. */
  readonly signal: AbortSignal
  readonly pendingTimers: number
}

/** All kinds of calls of the program in this process, against a sandbox with `mixedFaults`. */
export function mixedCalls(url: string, folder: string): MixedCalls {
  let pendingTimers = 0
  const clock: Clock = {
    ...systemClock,
    timer(ms, callback, label) {
      pendingTimers++
      let isOver = false
      const end = () => {
        if (!isOver) pendingTimers--
        isOver = true
      }
      const timer = systemClock.timer(ms, () => (end(), callback()), label)
      return { cancel: () => (end(), timer.cancel()) }
    },
  }
  const shared = new AbortController()
  let made = 0
  const makeOne = async (place: string) => {
    const number = made++
    const [words, expected, stops] = number % videoEvery === 0 ? video : kinds[number % kinds.length]!
    const stop = new AbortController()
    const stdout = memorySink()
    const context = {
      ...testContext({ cwd: place, home: place, env: environment(url) }),
      stdout: stops === undefined ? stdout : stopAtFirstWord(stdout, stop),
      clock,
      signal: stops === undefined ? shared.signal : stop.signal,
    }
    const code = await main(words, context)
    if (code !== expected)
      throw new Error(`${words.join(' ')} ended with ${code}, not ${expected}: ${context.stderr.text}`)
  }
  return {
    signal: shared.signal,
    get pendingTimers() {
      return pendingTimers
    },
    async make(count) {
      const last = made + count
      await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          const place = join(folder, String(at))
          mkdirSync(place, { recursive: true })
          while (made < last) await makeOne(place)
        }),
      )
    },
  }
}

function environment(url: string): Record<string, string> {
  return { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'some-key-0123', MODELGATE_HISTORY: 'off' }
}

function stopAtFirstWord(sink: MemorySink, stop: AbortController): MemorySink {
  const write = (chunk: string | Uint8Array) => {
    sink.write(chunk)
    stop.abort(new Interrupted('interrupt'))
  }
  return Object.create(sink, { write: { value: write } }) as MemorySink
}
