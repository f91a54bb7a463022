import { gzipSync } from 'node:zlib'
import {
  end,
  flood,
  head,
  json,
  readAll,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp } from './expectations.ts'

const page = (title: string) =>
  `<!doctype html><html><head><title>${title}</title></head><body>...</body></html>`

/** Whatever is in it: the status decides. */
const rejected = (name: string, reply: ServerReply, says: RegExp, isSampled = true): FaultVariant => {
  const expected: Expected = { exit: 4, says, error: { http_status: 400, billed: 'no' }, leaves: 'nothing' }
  return {
    name,
    ...(isSampled && { isSampled }),
    replies: () => always(reply),
    expects: {
      text: expected,
      creation: expected,
      'look-up': expected,
      poll: { ...expected, error: { http_status: 400 } },
      stream: { ...expected, says: /./, error: {}, attempts: 'any' },
    },
  }
}
const body = (name: string, value: unknown, words: string, isSampled = true): FaultVariant =>
  rejected(name, json(value, { status: 400 }), new RegExp(`\\(HTTP 400\\)${words}`), isSampled)
const plain = (name: string, reply: ServerReply, isSampled = true): FaultVariant =>
  rejected(name, reply, /The gateway rejected the request \(HTTP 400\)/, isSampled)

/** C25 to C29: what is in the body of an error, and errors in place of answers. */
export const errorBodies: readonly FaultRow[] = [
  row('C25', 'an HTML page with 200', 'refused; its title is reported', [
    {
      name: 'a page to log in',
      where: (_, { role }) => role !== 'report',
      replies: () => always(text(page('Log in'), { headers: { 'content-type': 'text/html' } })),
      expects: {
        ...everywhere({
          exit: 8,
          says: /an HTML page, "Log in"/,
          error: { code: 'reply_not_understood' },
          leaves: 'nothing',
        }),
        poll: gaveUp,
        stream: brokeOff,
        download: { exit: 8, says: /HTML|no image|not an image|no video|not a video/, leaves: 'nothing' },
      },
    },
  ]),
  row('C26', 'an HTML page with 502', 'the status decides; the title is reported', [
    {
      name: '502 Bad Gateway',
      where: (_, { role }) => role !== 'report',
      replies: () => always(text(page('502 Bad Gateway'), { status: 502 })),
      expects: {
        text: {
          exit: 7,
          says: /\(HTTP 502\): an HTML page, "502 Bad Gateway"/,
          attempts: 3,
          isNotForRuns: true,
          leaves: 'nothing',
        },
        creation: { exit: 7, says: /\(HTTP 502\): an HTML page, "502 Bad Gateway"/, leaves: 'nothing' },
        'look-up': {
          exit: 5,
          says: /\(HTTP 502\): an HTML page, "502 Bad Gateway"/,
          attempts: 3,
          leaves: 'nothing',
        },
        poll: gaveUp,
        stream: brokeOff,
      },
    },
  ]),
  row(
    'C27',
    'an error body that is huge or never ends',
    '1 MiB or five seconds of it are read; the status decides',
    [
      plain('2 MiB', text('x'.repeat(2 * 1_048_576), { status: 400 })),
      plain('cut', [readAll, write(`${head(400, { 'content-length': '99' })}{"error":`), end]),
      plain('without end', [readAll, write(head(400)), flood('x'.repeat(65_536))], false),
      {
        ...plain('silent', [readAll, write(head(400, { 'content-length': '99' })), stall], false),
        trouble: () => ({ stepMs: 1000 }),
      },
    ],
    'that it takes five seconds: test/gateway/phases.test.ts',
  ),
  row('C28', 'error bodies of all shapes', 'one reader takes what it knows; the status alone suffices', [
    body('an error object', { error: { message: 'Not so.', code: 'bad' } }, ': Not so\\.', false),
    body('a text', { error: 'Not so.' }, ': Not so\\.'),
    body('a message', { message: 'Not so.' }, ': Not so\\.'),
    body('detail', { detail: 'Not so.' }, ': Not so\\.'),
    body('a list of details', { detail: [{ loc: ['body', 'n'], msg: 'Not so.' }] }, '.*Not so'),
    body('errors', { errors: [{ message: 'Not so.' }] }, '.*Not so'),
    body('an array', [{ error: { message: 'Not so.' } }], '.*Not so'),
    body('a string', 'Not so.', '.*Not so'),
    body('null', null, ''),
    plain('nothing', text('', { status: 400 })),
    plain('invalid UTF-8', [
      readAll,
      write(
        Buffer.concat([Buffer.from(head(400, { 'content-length': '3' })), Buffer.from([0xc3, 0x28, 0xff])]),
      ),
      end,
    ]),
    plain('gzip', [
      readAll,
      write(
        Buffer.concat([
          Buffer.from(head(400, { 'content-encoding': 'gzip' })),
          gzipSync('{"error":{"message":"Not so."}}'),
        ]),
      ),
      end,
    ]),
    plain('JSON nested thousands of levels deep', text('['.repeat(20_000), { status: 400 })),
  ]),
  row(
    'C29',
    '200 with an error object in place of the answer',
    'a failure of the generation; a look-up is asked for again later',
    [
      {
        name: 'an error object',
        where: (_, { role }) => role !== 'report',
        replies: () => always(json({ error: { code: 'broken', message: 'It broke inside.' } })),
        expects: {
          text: { exit: 9, says: /It broke inside\./, error: { billed: 'maybe' }, leaves: 'nothing' },
          creation: { exit: 9, says: /It broke inside\./, leaves: 'nothing' },
          'look-up': { exit: 5, says: /It broke inside\./, attempts: 'any', leaves: 'nothing' },
          poll: gaveUp,
          stream: { exit: 9, says: /It broke inside\./, attempts: 'any', leaves: 'nothing' },
        },
      },
    ],
  ),
]
