import { json } from '../../support/server-replies.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { event, harmless, isRun, isStream, isStyle, spoilt, streamOf } from './spoil.ts'

const all: Expected = { exit: 0, leaves: 'all' }

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
const alone = (name: string, text: string, expected: Expected): FaultVariant =>
  spoilt(name, (_, index) => (index === 0 ? [text] : []), { text: expected })

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
): FaultVariant => {
  const where = style === 'any' ? isStream : isStyle(style)
  return spoilt(name, (piece, index) => (index === 0 ? [piece, last] : []), { text: expected }, where)
}

/** E15 to E33: what the events of a stream say. */
export const streamContents: readonly FaultRow[] = [
  row(
    'E15',
    'an error in the middle of the stream, the status being 200',
    'what has come is printed, then the error',
    [
      endedBy('of generate', 'generate', errors.generate, failedByError),
      endedBy('of respond', 'respond', errors.respond, failedByError),
      endedBy('an error object without a type', 'any', untyped, failedByError),
      endedBy('an event of the name `error`', 'any', `event: error\n${untyped}`, failedByError),
    ],
  ),
  row('E16', 'an event that is not valid JSON', 'refused; the message holds nothing of it', [
    between('in the middle', 'data: {"secret": prompt}\n\n', {
      text: {
        exit: 8,
        says: /^(?!.*secret).*A message of the reply is not valid JSON\./m,
        error: { code: 'reply_not_understood', billed: 'maybe' },
        leaves: 'begun',
      },
    }),
  ]),
  row('E17', 'JSON that is cut at the end', 'it was cut', [
    spoilt(
      'in the last event',
      (piece, index) => (index === 0 ? piece : index === 1 ? piece.slice(0, 20) : []),
      {
        text: {
          exit: 7,
          says: /cut off in the middle/,
          error: { code: 'connection_lost', billed: 'maybe' },
          leaves: 'begun',
        },
      },
    ),
  ]),
  row(
    'E18',
    'events that say nothing: `null`, `[]`, `""`, `42`, `{}`',
    'passed over; a stream of nothing else is refused',
    [
      ...['null', '[]', '""', '42', '{}', '{"candidates":null}', '{"type":7}'].map((value) =>
        between(`${value} between others`, `data: ${value}\n\n`, harmless),
      ),
      ...['null', '[]', '""', '42', '{}'].map((value) =>
        alone(`${value} alone`, `data: ${value}\n\n`, notUnderstood),
      ),
    ],
  ),
  row('E19', 'event types, fields and values that nobody knows', 'passed over', [
    between('an event type', event({ type: 'response.something.new', output_index: 0 }), harmless),
    spoilt('fields', (piece) => piece.replace('{', '{"new":{"deep":[1,2]},')),
  ]),
  row('E20', 'names of events and fields that mean something to JavaScript', 'nothing', [
    ...['__proto__', 'constructor', 'toString'].map((name): FaultVariant =>
      spoilt(`an event called ${name}`, (piece) => `event: ${name}\n${piece}`, { text: all }),
    ),
    between('a type', event({ type: '__proto__' }), harmless),
    spoilt('fields', (piece) =>
      piece.replace('{', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},'),
    ),
  ]),
  row(
    'E21',
    'an index that makes no sense',
    'refused outside 0 to 1023',
    [-1, 1024, 1e9].map((index): FaultVariant =>
      spoilt(
        String(index),
        (piece) =>
          piece.replaceAll('"index":0', `"index":${index}`).replaceAll('_index":0', `_index":${index}`),
        { text: { exit: 8, says: /index/, leaves: 'nothing' } },
      ),
    ),
  ),
  row(
    'E30',
    'an answer that was blocked, or reached a limit',
    'what has come is kept; blocked or empty is a failure, the token limit a warning',
    [
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
      spoilt(
        'a prompt that was blocked',
        (_, index) => (index === 0 ? event({ promptFeedback: { blockReason: 'SAFETY' } }) : []),
        { text: failed(/SAFETY/, 'nothing') },
        isStyle('generate'),
      ),
    ],
  ),
  row('E31', 'a response that ends as `incomplete`, `failed` or `cancelled`', 'the reason is named', [
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
  ]),
  row(
    'E32',
    'a response that is still running, though it was not to run in the background',
    'its id is printed, and the command that waits for it',
    ['queued', 'in_progress'].map((status): FaultVariant => ({
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
  ),
  row(
    'E33',
    'sequence numbers with a gap, or twice the same',
    'nothing: the end of the stream says whether all is there',
    [
      spoilt(
        'both',
        (piece, index) => piece.replace('{', `{"sequence_number":${[7, 7, 99][index]},`),
        { text: all },
        isStyle('respond'),
      ),
    ],
  ),
]
