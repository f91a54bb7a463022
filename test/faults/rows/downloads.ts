import { end, head, readAll, reset, text, write, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow } from '../row.ts'
import { isRun } from './spoil.ts'

const all: Expected = { exit: 0, leaves: 'all' }
const status = (code: number): ServerReply => text('', { status: code })
const times = (count: number, reply: ServerReply) => Array<ServerReply>(count).fill(reply)

const isOfJob = ({ name }: Call) => name.includes('video')
const refused: Expected = { exit: 4, says: /HTTP 4\d\d/, leaves: 'nothing' }

const goneAt = (code: number) => (code === 410 ? ({ isGone: true } as const) : {})

const bodyOf = ({ reply }: Exchange) => Buffer.concat(reply.pieces)
const half = (exchange: Exchange) => bodyOf(exchange).subarray(0, bodyOf(exchange).length >> 1)
const lengthOf = (exchange: Exchange) => ({ 'content-length': String(bodyOf(exchange).length) })

/** A file of which only the first half comes. */
const cut = (exchange: Exchange): ServerReply => [
  readAll,
  write(head(200, { 'content-type': exchange.reply.type, ...lengthOf(exchange) })),
  write(half(exchange)),
  end,
]
/** The first half, as a part that nobody has asked for. */
const part = (exchange: Exchange): ServerReply => {
  const { length } = half(exchange)
  const range = { 'content-length': String(length), 'content-range': `bytes 0-${length - 1}/${length * 3}` }
  return [
    readAll,
    write(head(206, { 'content-type': exchange.reply.type, ...range })),
    write(half(exchange)),
    end,
  ]
}

/** F11 to F18: results that are fetched. */
export const downloads: readonly FaultRow[] = [
  row(
    'F11',
    'a result address that has expired',
    'the job is looked up once for a fresh one',
    [403, 410].flatMap((code) => [
      {
        name: `HTTP ${code}, for ever`,
        where: isOfJob,
        replies: () => times(10, status(code)),
        expects: { download: { ...refused, ...goneAt(code), attempts: 2 } },
      },
      {
        name: `HTTP ${code}, of a result that belongs to no job`,
        where: (call: Call) => !isOfJob(call),
        replies: () => [status(code)],
        expects: { download: { ...refused, ...goneAt(code) } },
      },
    ]),
  ),
  row('F12', '404 for a result that was just completed', 'asked for again for a few seconds', [
    { name: 'once', replies: () => [status(404)], expects: { download: { ...all, attempts: 2 } } },
    {
      name: 'for ever',
      replies: () => times(20, status(404)),
      expects: { download: { exit: 4, says: /HTTP 404/, attempts: 4, leaves: 'nothing' } },
    },
  ]),
  row(
    'F13',
    'a result address that leads elsewhere, inside the network, or is none',
    'https only, no private addresses, the key to the gateway alone; each redirect is checked again',
    [],
    'test/gateway/download.test.ts',
  ),
  row('F14', 'a download that breaks off', 'begun again', [
    {
      name: 'closed',
      replies: (exchange) => [cut(exchange)],
      expects: { download: { ...all, attempts: 2 } },
    },
    {
      name: 'reset before the headers',
      replies: () => [[readAll, reset]],
      expects: { download: { ...all, attempts: 2 } },
    },
    {
      name: 'closed, for ever',
      // A run begins a download again for as long as it goes on with its other tasks.
      where: (call) => !isRun(call),
      replies: (exchange) => times(20, cut(exchange)),
      expects: {
        download: { exit: 5, says: /closed the connection in the middle/, attempts: 3, leaves: 'damaged' },
      },
    },
  ]),
  row('F15', '`Range` is ignored', 'no part is asked for', [], 'test/gateway/download.test.ts'),
  row('F16', 'a part in place of the whole', 'begun again', [
    {
      name: 'once',
      replies: (exchange) => [part(exchange)],
      expects: { download: { ...all, attempts: 2 } },
    },
    {
      name: 'for ever',
      where: (call) => !isRun(call),
      replies: (exchange) => times(20, part(exchange)),
      expects: { download: { exit: 5, says: /HTTP 206/, attempts: 3, leaves: 'nothing' } },
    },
  ]),
  row(
    'F17',
    'an error page in place of a file',
    'refused: the first bytes decide',
    ['text/html', 'image/png', 'video/mp4'].map((type) => ({
      name: `a page called ${type}`,
      replies: () =>
        times(10, text('<!doctype html><title>Gone</title>', { headers: { 'content-type': type } })),
      expects: { download: { exit: 8, says: /HTML|text\/html/, leaves: 'nothing' as const } },
    })),
  ),
  row('F18', 'an empty file', 'refused', [
    {
      name: 'of a known length',
      replies: () => times(10, text('')),
      expects: { download: { exit: 8, says: /empty|0 bytes|no bytes/, leaves: 'nothing' } },
    },
  ]),
]
