import type { TextEvent, TextResult } from '../../src/events/text.ts'
import { ModelgateError } from '../../src/errors.ts'
import type { DecoderOptions, TextDecoder } from '../../src/gateway/stream-text.ts'

export interface Decoded {
  readonly events: readonly TextEvent[]
  readonly result: TextResult
  readonly state: TextDecoder['state']
  /** What the reply amounts to: `ok`, or exit name and code, as `failed: nothing_generated`. */
  readonly verdict: string
  readonly error: ModelgateError | undefined
}

/** Feeds messages to a fresh decoder, and asks for the verdict. An error that is not ours is thrown on. */
export function decode(
  create: (options: DecoderOptions) => TextDecoder,
  messages: readonly unknown[],
  { marked = false } = {},
): Decoded {
  const events: TextEvent[] = []
  const decoder = create({ emit: (event) => events.push(event), keepResponse: true, keepText: true })
  let error: ModelgateError | undefined
  try {
    for (const message of messages) decoder.message(message)
    decoder.finish(marked)
  } catch (thrown) {
    if (!(thrown instanceof ModelgateError)) throw thrown
    error = thrown
  }
  return {
    events,
    result: decoder.result(),
    state: decoder.state,
    verdict: error === undefined ? 'ok' : `${error.exit}: ${error.code}`,
    error,
  }
}

/** The events of one type. */
export function eventsOf<Type extends TextEvent['type']>(
  { events }: Decoded,
  type: Type,
): Extract<TextEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<TextEvent, { type: Type }> => event.type === type)
}
