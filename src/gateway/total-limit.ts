import { DeadlinePassed } from './exchange-error.ts'
import type { Gateway, GatewayReply } from './gateway.ts'

/** The limit on a request with all its retries and its whole body. */
export interface TotalLimit {
  /** Aborted by the command's own signal, or with a DeadlinePassed. */
  readonly signal: AbortSignal
  /** Keeps the limit until the reply's body has been read. */
  guard(reply: GatewayReply): GatewayReply
  end(): void
}

/** Starts the clock of `--timeout`; without it there is no total limit. */
export function startTotalLimit({
  clock,
  signal,
  limits,
}: Pick<Gateway, 'clock' | 'signal' | 'limits'>): TotalLimit {
  const { total = Infinity, deadline = Infinity } = limits
  const left = deadline - clock.monotonic()
  if (total === Infinity && left === Infinity) return { signal, guard: (reply) => reply, end() {} }
  const controller = new AbortController()
  const onAbort = () => controller.abort(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  const message =
    left < total
      ? 'The time for the whole command is over (--timeout).'
      : `The request took longer than ${total / 1000} s (--timeout).`
  const timer = clock.timer(Math.max(0, Math.min(total, left)), () => {
    controller.abort(new DeadlinePassed(message))
  })
  const end = () => {
    timer.cancel()
    signal.removeEventListener('abort', onAbort)
  }
  return {
    signal: controller.signal,
    guard: (reply) => ({
      ...reply,
      body: endAfter(reply.body, end),
      close() {
        end()
        reply.close()
      },
    }),
    end,
  }
}

async function* endAfter(body: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } finally {
    end()
  }
}
