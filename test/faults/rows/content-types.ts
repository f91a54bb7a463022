import { end, head, readAll, sse, write, type ServerReply } from '../../support/server-replies.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, worksAt } from './expectations.ts'
import { isStream } from './spoil.ts'

/** The right body under other headers. */
const labelled = (
  { reply }: Exchange,
  headers: Readonly<Record<string, string>>,
  body = Buffer.concat(reply.pieces),
): ServerReply => [
  readAll,
  write(head(200, { 'content-length': String(body.length), ...headers })),
  write(body),
  end,
]

const type = (name: string, headers: Readonly<Record<string, string>>, isSampled = true): FaultVariant => ({
  name,
  ...(isSampled && { isSampled }),
  replies: (exchange) => [labelled(exchange, headers)],
  expects: everywhere(worksAt(1)),
})

/** The last event of a stream holds what a reply without one is. */
const wholeOf = ({ reply, asks }: Exchange): Buffer<ArrayBuffer> => {
  const last = JSON.parse(String(reply.pieces.at(-1)).slice('data: '.length)) as {
    readonly response?: unknown
    readonly b64_json?: string
  }
  const texts = reply.pieces.map((piece) => JSON.parse(String(piece).slice('data: '.length)) as object)
  if (last.response !== undefined) return Buffer.from(JSON.stringify(last.response))
  if (last.b64_json !== undefined) return Buffer.from(JSON.stringify({ data: [{ b64_json: last.b64_json }] }))
  return Buffer.from(asks.source.includes('GenerateContent') ? JSON.stringify(texts) : '')
}

const refused = (says: RegExp): Expected => ({ exit: 8, says, leaves: 'nothing' })

/** C30 to C35: what a reply says that it is, and what it is. */
export const contentTypes: readonly FaultRow[] = [
  row('C30', 'a wrong content type', 'what comes is judged by itself', [
    type('text/plain', { 'content-type': 'text/plain' }, false),
    type('text/html', { 'content-type': 'text/html' }),
  ]),
  row('C31', 'a whole reply, though a stream was asked for', 'read as it is', [
    {
      name: 'application/json',
      where: (call, exchange) => isStream(call, exchange) && exchange.role !== 'stream',
      replies: (exchange) => [labelled(exchange, { 'content-type': 'application/json' }, wholeOf(exchange))],
      expects: everywhere(worksAt(1)),
    },
  ]),
  row('C32', 'a stream, though a whole reply was asked for', 'read as it is', [
    {
      name: 'one event',
      where: (_, { reply }) => reply.type === 'application/json',
      replies: ({ reply }) => [sse([`data: ${Buffer.concat(reply.pieces).toString()}\n\n`])],
      expects: everywhere(worksAt(1)),
    },
  ]),
  row('C33', 'no content type, or one with another character set', 'streams are UTF-8 always', [
    type('none', {}, false),
    {
      ...type('latin1', { 'content-type': 'text/event-stream;charset=latin1' }),
      where: isStream,
    },
  ]),
  row('C34', 'JSON in UTF-16', 'refused', [
    {
      name: 'UTF-16',
      where: (call, exchange) =>
        exchange.reply.type === 'application/json' && exchange.role !== 'report' && call.argv[0] !== 'run',
      replies: (exchange) =>
        always(
          labelled(
            exchange,
            { 'content-type': 'application/json; charset=utf-16' },
            Buffer.from(`\ufeff${Buffer.concat(exchange.reply.pieces).toString()}`, 'utf16le'),
          ),
        ),
      expects: {
        ...everywhere(refused(/not valid JSON|no JSON|no image|neither text nor the end/)),
        poll: gaveUp,
        stream: brokeOff,
      },
    },
  ]),
  row(
    'C35',
    'escape sequences in the id of a request',
    'shown, not obeyed',
    [],
    'shown by test/program/request-id.test.ts',
  ),
]
