import {
  closeDelimited,
  end,
  head,
  readAll,
  sse,
  write,
  type Ending,
  type ServerReply,
  type Step,
} from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import type { Expected, FaultVariant } from '../row.ts'

export const all: Expected = { exit: 0 }

/** The same whatever was asked for. */
export const everywhere = (expected: Expected): FaultVariant['expects'] => ({
  text: expected,
  creation: expected,
  'look-up': expected,
  download: expected,
})

/** The same for what is paid for. */
export const paid = (expected: Expected): FaultVariant['expects'] => ({ text: expected, creation: expected })

/** Nothing is missing in the end of a stream. */
export const harmless = paid(all)

/** It works after all, at this attempt. */
export const worksAt = (attempts: number, waits: readonly number[] = []): Expected => ({
  ...all,
  attempts,
  waits,
})

/** Waiting for a job goes on in spite of failed look-ups, but not for ever (F5). */
export const gaveUp: Expected = {
  exit: 5,
  says: /Looking up the job failed 10 times in a row/,
  attempts: 10,
  isNotForRuns: true,
}

/** A stream of a response is taken up again five times, which says nothing about the response (F20). */
export const brokeOff: Expected = {
  exit: 11,
  says: /The stream of the response resp_1 broke off 6 times in a row/,
  error: { code: 'still_running', remote_id: 'resp_1' },
  attempts: 'any',
}

/** Of what is wrong for as long as it is tried: the ends of a wait for a job, and of the stream of a response. */
export const atLast = { poll: gaveUp, stream: brokeOff }

type Reply = ServerReply | ((exchange: Exchange) => ServerReply)

/** What the first requests of an exchange get. */
export function inTurn(
  name: string,
  replies: readonly Reply[],
  expects: FaultVariant['expects'],
  where: FaultVariant['where'] = () => true,
): FaultVariant {
  const replyTo = (exchange: Exchange) => (reply: Reply) =>
    typeof reply === 'function' ? reply(exchange) : reply
  return { name, where, replies: (exchange) => replies.map(replyTo(exchange)), expects }
}

type Tried = readonly [expects: FaultVariant['expects'], where?: FaultVariant['where']]
/** What the first of them gets. */
export const once = (name: string, reply: Reply, ...tried: Tried) => inTurn(name, [reply], ...tried)
/** What all of them get. */
export const ever = (name: string, reply: Reply, ...tried: Tried) =>
  inTurn(name, Array<Reply>(60).fill(reply), ...tried)

/** The same, where a report does not tell of it in words of its own. */
export const lasting = (name: string, reply: Reply, expects: FaultVariant['expects']) =>
  ever(name, reply, expects, isNoReport)

/** Each of these is tried at one exchange of each role only: the others read such replies in the same way. */
export const sampled = (...variants: readonly FaultVariant[]): readonly FaultVariant[] =>
  variants.map((variant) => ({ ...variant, isSampled: true }))

/** The first request of a call: what keeps it from being sent keeps the others, too. */
export const isFirst = (call: Call, exchange: Exchange): boolean => exchange === call.exchanges[0]
export const isRun = ({ argv }: Call): boolean => argv[0] === 'run'
/** What is wrong with a gateway may be all that a report is to find out, in words of its own. */
export const isNoReport = (_: Call, { role }: Exchange): boolean => role !== 'report'
export const isStream = (_: Call, { reply }: Exchange): boolean => reply.type === 'text/event-stream'
/** A call whose text is streamed, in one of the two styles. */
export const isStyle = (style: 'generate' | 'respond') => (call: Call, exchange: Exchange) =>
  isStream(call, exchange) &&
  (exchange.asks.source.includes('GenerateContent') ? 'generate' : 'respond') === style

/** For every attempt that there may be. */
export const always = (reply: ServerReply): readonly ServerReply[] => Array.from({ length: 60 }, () => reply)

export const bodyOf = ({ reply }: Exchange): Buffer => Buffer.concat(reply.pieces)

/** A reply of the exchange's own type, with what is different about its headers and its body. */
export const replyWith = (
  exchange: Exchange,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array = bodyOf(exchange),
  ending: Step = end,
  status = 200,
): ServerReply => [
  readAll,
  write(
    head(status, { 'content-type': exchange.reply.type, 'content-length': String(body.length), ...headers }),
  ),
  write(body),
  ending,
]

type Change = (
  piece: string,
  index: number,
  all: readonly string[],
) => string | readonly (string | Uint8Array)[]

/** A reply as a stream of other pieces: the right ones with something done to each. */
export function streamOf({ reply }: Exchange, change: Change, ending: Ending = 'whole'): ServerReply {
  return sse(reply.pieces.map(String).flatMap(change), { ending })
}

/** The same, as a body that lasts until the connection ends. */
export function untilClosed({ reply }: Exchange, change: Change): ServerReply {
  return closeDelimited(reply.pieces.map(String).flatMap(change), { headers: { 'content-type': reply.type } })
}

/** A stream whose pieces have something done to each. */
export function spoilt(
  name: string,
  change: Change,
  expects: FaultVariant['expects'] = harmless,
  where = isStream,
): FaultVariant {
  return once(name, (exchange) => streamOf(exchange, change), expects, where)
}

/** An event of its own. */
export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
