import { json } from '../../support/server-replies.ts'
import type { Expected, FaultRow, FaultVariant } from '../row.ts'
import { event, isRun, isStream, isStyle, streamOf } from './spoil.ts'

const all: Expected = { exit: 0, leaves: 'all' }
const harmless = { text: all, creation: all }

/** Something between the first event and the second. */
const between = (name: string, text: string, expects: FaultVariant['expects']): FaultVariant => ({
  name,
  where: isStream,
  replies: (exchange) => [
    streamOf(exchange, (piece, index) =>
      index === 0 && !isLast(exchange.reply.pieces) ? [piece, text] : [text, piece],
    ),
  ],
  expects,
})
const isLast = ({ length }: readonly unknown[]) => length === 1

/** Nothing but this. */
const alone = (name: string, text: string, expected: Expected): FaultVariant => ({
  name,
  where: isStream,
  replies: (exchange) => [streamOf(exchange, (_, index) => (index === 0 ? [text] : []))],
  expects: { text: expected },
})

const notUnderstood: Expected = {
  exit: 8,
  says: /contains neither text nor the end of a generation/,
  error: { code: 'reply_not_understood', billed: 'maybe' },
  leaves: 'nothing',
}
const failed = (says: RegExp, leaves: Expected['leaves'] = 'begun'): Expected => ({ exit: 9, says, leaves })

const errors = {
  generate: event({ error: { code: 500, message: 'It broke inside.', status: 'INTERNAL' } }),
  respond: event({ type: 'error', code: 'server_error', message: 'It broke inside.', param: null }),
}
const untyped = event({ error: { message: 'It broke inside.' } })
const failedByError = failed(/It broke inside\./)
const finish = (finishReason: string) => event({ candidates: [{ index: 0, finishReason }] })
const ended = (status: string, more: object = {}) =>
  event({
    type: `response.${status}`,
    response: { id: 'resp_1', object: 'response', status, output: [], ...more },
  })

/** The first event, and another end. */
const endedBy = (
  name: string,
  style: 'generate' | 'respond' | 'any',
  last: string,
  expected: Expected,
): FaultVariant => ({
  name,
  where: style === 'any' ? isStream : isStyle(style),
  replies: (exchange) => [streamOf(exchange, (piece, index) => (index === 0 ? [piece, last] : []))],
  expects: { text: expected },
})

/** E15 to E33: what the events of a stream say. */
export const streamContents: readonly FaultRow[] = [
  {
    id: 'E15',
    fault: 'an error in the middle of the stream, the status being 200',
    happens: 'what has come is printed, then the error',
    tried: [
      endedBy('of generate', 'generate', errors.generate, failedByError),
      endedBy('of respond', 'respond', errors.respond, failedByError),
      endedBy('an error object without a type', 'any', untyped, failedByError),
      endedBy('an event of the name `error`', 'any', `event: error\n${untyped}`, failedByError),
    ],
  },
  {
    id: 'E16',
    fault: 'an event that is not valid JSON',
    happens: 'refused; the message holds nothing of it',
    tried: [
      between('in the middle', 'data: {"secret": prompt}\n\n', {
        text: {
          exit: 8,
          says: /^(?!.*secret).*A message of the reply is not valid JSON\./m,
          error: { code: 'reply_not_understood', billed: 'maybe' },
          leaves: 'begun',
        },
      }),
    ],
  },
  {
    id: 'E17',
    fault: 'JSON that is cut at the end',
    happens: 'it was cut',
    tried: [
      {
        name: 'in the last event',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index) => (index === 0 ? piece : index === 1 ? piece.slice(0, 20) : [])),
        ],
        expects: {
          text: {
            exit: 7,
            says: /cut off in the middle/,
            error: { code: 'connection_lost', billed: 'maybe' },
            leaves: 'begun',
          },
        },
      },
    ],
  },
  {
    id: 'E18',
    fault: 'events that say nothing: `null`, `[]`, `""`, `42`, `{}`',
    happens: 'passed over; a stream of nothing else is refused',
    tried: [
      ...['null', '[]', '""', '42', '{}', '{"candidates":null}', '{"type":7}'].map((value) =>
        between(`${value} between others`, `data: ${value}\n\n`, harmless),
      ),
      ...['null', '[]', '""', '42', '{}'].map((value) =>
        alone(`${value} alone`, `data: ${value}\n\n`, notUnderstood),
      ),
    ],
  },
  {
    id: 'E19',
    fault: 'event types, fields and values that nobody knows',
    happens: 'passed over',
    tried: [
      between('an event type', event({ type: 'response.something.new', output_index: 0 }), harmless),
      {
        name: 'fields',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => piece.replace('{', '{"new":{"deep":[1,2]},'))],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E20',
    fault: 'names of events and fields that mean something to JavaScript',
    happens: 'nothing',
    tried: [
      ...['__proto__', 'constructor', 'toString'].map((name): FaultVariant => ({
        name: `an event called ${name}`,
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => `event: ${name}\n${piece}`)],
        expects: { text: all },
      })),
      between('a type', event({ type: '__proto__' }), harmless),
      {
        name: 'fields',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece) =>
            piece.replace('{', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},'),
          ),
        ],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E21',
    fault: 'an index that makes no sense',
    happens: 'refused outside 0 to 1023',
    tried: [-1, 1024, 1e9].map((index): FaultVariant => ({
      name: String(index),
      where: isStream,
      replies: (exchange) => [
        streamOf(exchange, (piece) =>
          piece.replaceAll('"index":0', `"index":${index}`).replaceAll('_index":0', `_index":${index}`),
        ),
      ],
      expects: { text: { exit: 8, says: /index/, leaves: 'nothing' } },
    })),
  },
  {
    id: 'E30',
    fault: 'an answer that was blocked, or reached a limit',
    happens: 'what has come is kept; blocked or empty is a failure, the token limit a warning',
    tried: [
      ...['SAFETY', 'RECITATION', 'PROHIBITED_CONTENT'].map((reason) =>
        endedBy(reason, 'generate', finish(reason), failed(new RegExp(reason))),
      ),
      {
        ...endedBy('MAX_TOKENS', 'generate', finish('MAX_TOKENS'), {
          exit: 0,
          says: /cut short by the token limit/,
          leaves: { text: 'Hello, ' },
        }),
        where: (call, exchange) => isStyle('generate')(call, exchange) && !isRun(call),
      },
      {
        ...endedBy(
          'MAX_TOKENS, of a file',
          'generate',
          finish('MAX_TOKENS'),
          failed(/cut short by the token limit/, 'nothing'),
        ),
        where: isRun,
      },
      endedBy(
        'max_output_tokens',
        'respond',
        ended('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
        { exit: 0, says: /cut short by the token limit/, leaves: { text: 'Hello, ' } },
      ),
      endedBy('an unknown reason', 'generate', finish('SOMETHING_NEW'), {
        exit: 0,
        says: /unknown finish reason: SOMETHING_NEW/,
        leaves: { text: 'Hello, ' },
      }),
      {
        name: 'a prompt that was blocked',
        where: isStyle('generate'),
        replies: (exchange) => [
          streamOf(exchange, (_, index) =>
            index === 0 ? event({ promptFeedback: { blockReason: 'SAFETY' } }) : [],
          ),
        ],
        expects: { text: failed(/SAFETY/, 'nothing') },
      },
    ],
  },
  {
    id: 'E31',
    fault: 'a response that ends as `incomplete`, `failed` or `cancelled`',
    happens: 'the reason is named',
    tried: [
      endedBy(
        'failed',
        'respond',
        ended('failed', { error: { code: 'server_error', message: 'The model fell over.' } }),
        failed(/The model fell over\./),
      ),
      endedBy('cancelled', 'respond', ended('cancelled'), failed(/was cancelled/)),
      endedBy(
        'incomplete, for its content',
        'respond',
        ended('incomplete', { incomplete_details: { reason: 'content_filter' } }),
        failed(/content_filter|blocked/),
      ),
    ],
  },
  {
    id: 'E32',
    fault: 'a response that is still running, though it was not to run in the background',
    happens: 'its id is printed, and the command that waits for it',
    tried: ['queued', 'in_progress'].map((status): FaultVariant => ({
      name: status,
      where: ({ name }) => name === 'respond --no-stream',
      replies: () => [json({ id: 'resp_1', object: 'response', status, output: [] })],
      expects: {
        text: {
          exit: 11,
          says: /The response resp_1 is still running/,
          error: { code: 'still_running', billed: 'yes', remote_id: 'resp_1' },
          leaves: 'nothing',
        },
      },
    })),
  },
  {
    id: 'E33',
    fault: 'sequence numbers with a gap, or twice the same',
    happens: 'nothing: the end of the stream says whether all is there',
    tried: [
      {
        name: 'both',
        where: isStyle('respond'),
        replies: (exchange) => [
          streamOf(exchange, (piece, index) =>
            piece.replace('{', `{"sequence_number":${[7, 7, 99][index]},`),
          ),
        ],
        expects: { text: all },
      },
    ],
  },
]
