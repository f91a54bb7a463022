import { closeDelimited, sse, type Ending, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import type { Expected, FaultVariant } from '../row.ts'

type Change = (
  piece: string,
  index: number,
  all: readonly string[],
) => string | readonly (string | Uint8Array)[]

/** A reply as a stream of other pieces: the right ones with something done to each. */
export function streamOf({ reply }: Exchange, change: Change, ending: Ending = 'whole'): ServerReply {
  return sse(changed(reply.pieces, change), { ending })
}

/** The same, as a body that lasts until the connection ends. */
export function untilClosed({ reply }: Exchange, change: Change): ServerReply {
  return closeDelimited(changed(reply.pieces, change), { headers: { 'content-type': reply.type } })
}

function changed(pieces: readonly Buffer[], change: Change): readonly (string | Uint8Array)[] {
  return pieces.map(String).flatMap(change)
}

export const isStream = (_: Call, { reply }: Exchange): boolean => reply.type === 'text/event-stream'
/** A call whose text is streamed, in one of the two styles or in both. */
export const isStyle = (style: 'generate' | 'respond') => (call: Call, exchange: Exchange) =>
  isStream(call, exchange) &&
  (exchange.asks.source.includes('GenerateContent') ? 'generate' : 'respond') === style

const all: Expected = { exit: 0, leaves: 'all' }
/** Nothing is missing in the end. */
export const harmless: FaultVariant['expects'] = { text: all, creation: all }

/** A stream whose pieces have something done to each. */
export function spoilt(name: string, change: Change, expects = harmless, where = isStream): FaultVariant {
  return { name, where, replies: (exchange) => [streamOf(exchange, change)], expects }
}

export const isRun = ({ argv }: Call): boolean => argv[0] === 'run'

/** An event of its own. */
export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
