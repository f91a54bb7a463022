import { pngBytes } from '../../support/image-bytes.ts'
import { end, json, readAll, reset, text, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import {
  all,
  always,
  bodyOf,
  event,
  ever,
  inTurn,
  isRun,
  isStream,
  once,
  replyWith,
  streamOf,
  worksAt,
} from './expectations.ts'

const picture = pngBytes({ width: 2, height: 1 })
const base64 = picture.toString('base64')

const makesImage = ({ name }: Call, { role }: Exchange) => role === 'creation' && /image/.test(name)
/** An image that comes in the reply to its creation, as one JSON value. */
const isPlain = (call: Call, exchange: Exchange) =>
  makesImage(call, exchange) && !isStream(call, exchange) && !call.name.includes('by URL')

const streamsImage = (call: Call, exchange: Exchange) =>
  makesImage(call, exchange) && isStream(call, exchange)

const answered = (name: string, items: readonly object[], expected: Expected): FaultVariant =>
  once(name, json({ created: 1, data: items }), { creation: expected }, isPlain)
const refused = (says: RegExp): Expected => ({ exit: 8, says })

const spelt = base64
  .replaceAll(/.{20}/g, '$&\r\n')
  .replaceAll('+', '-')
  .replaceAll('/', '_')
  .replaceAll('=', '')
const partial = event({ type: 'image_generation.partial_image', b64_json: base64, partial_image_index: 0 })

const later = (attempts: number): Expected => ({ exit: 5, says: /HTTP 503/, attempts })

const isOfVideo = ({ asks }: Exchange) => asks.source.includes('video_0123456789 ')
/** A video, not an operation: its state has a word and a number. */
const looksUpVideo = (_: Call, exchange: Exchange) => isOfVideo(exchange)
/** Waits for the end of a job, so that a look-up that fails is one of many. */
const waits = ({ name }: Call) => /wait/.test(name) && !/no-wait|response/.test(name)
const waitsForVideo = (call: Call, exchange: Exchange) => isOfVideo(exchange) && waits(call)
const asksOnce = ({ name }: Call) => / status| cancel/.test(name)

const video = (more: object): ServerReply =>
  json({ id: 'video_0123456789', object: 'video', status: 'completed', progress: 100, ...more })
const busy = text('', { status: 503 })
const times = (count: number, reply: ServerReply) => always(reply).slice(0, count)

const pageOf = (title: string, headers = {}) => text(`<!doctype html><title>${title}</title>`, { headers })
const status = (code: number): ServerReply => text('', { status: code })

const isOfJob = ({ name }: Call) => name.includes('video')
const expired: Expected = { exit: 4, says: /HTTP 4\d\d/ }

const goneAt = (code: number) => (code === 410 ? ({ isGone: true } as const) : {})

const half = (exchange: Exchange) => bodyOf(exchange).subarray(0, bodyOf(exchange).length >> 1)
/** A file of which only the first half comes. */
const cut = (exchange: Exchange): ServerReply =>
  replyWith(exchange, { 'content-length': String(bodyOf(exchange).length) }, half(exchange))
/** The first half, as a part that nobody has asked for. */
const part = (exchange: Exchange): ServerReply => {
  const { length } = half(exchange)
  const range = `bytes 0-${length - 1}/${length * 3}`
  return replyWith(exchange, { 'content-range': range }, half(exchange), end, 206)
}

/** E34 to E38, and F: what images are, and how many; jobs that take minutes; results that are fetched. */
export const results: readonly FaultRow[] = [
  row(
    'E34',
    'base64 with white space, in the URL alphabet, without padding, or with other characters',
    'read; other characters are refused',
    [
      answered('a data URL', [{ b64_json: `data:image/png;base64,${base64}` }], all),
      once(
        'line breaks, the URL alphabet and no padding, in an event',
        (exchange) =>
          streamOf(exchange, (_, index) =>
            index === 0 ? event({ type: 'image_generation.completed', b64_json: spelt }) : [],
          ),
        { creation: all },
        streamsImage,
      ),
      answered(
        'a character that is none of it',
        [{ b64_json: `${base64.slice(0, 30)}!${base64.slice(31)}` }],
        refused(/base64/),
      ),
    ],
  ),
  row(
    'E35',
    'partial images after the final one, or none of those that were asked for',
    'the final image counts',
    [
      once(
        'on both sides, unasked',
        (exchange) => streamOf(exchange, (piece) => [partial, piece, partial]),
        { creation: all },
        streamsImage,
      ),
    ],
  ),
  row('E36', 'an image that is none: a page, a text, nothing', 'refused: the first bytes decide', [
    answered(
      'a page',
      [{ b64_json: Buffer.from('<!doctype html><title>No</title>').toString('base64') }],
      refused(/HTML|not an image|no image/),
    ),
    answered('nothing', [{ b64_json: '' }], refused(/an image without base64 or a URL/)),
  ]),
  row(
    'E37',
    'fewer or more results than were asked for',
    'what came is kept, and the difference is reported',
    [
      once(
        'none',
        json({ created: 1, data: [] }),
        { creation: { exit: 9, says: /answered without an image/ } },
        isPlain,
      ),
    ],
  ),
  row(
    'E38',
    'an image both as a URL and in base64, or in neither way',
    'the bytes are taken; neither is refused',
    [
      answered('both', [{ url: 'https://example.invalid/x.png', b64_json: base64 }], all),
      answered('neither', [{ revised_prompt: 'A boat' }], refused(/an image without base64 or a URL/)),
      inTurn(
        'a reply without images',
        [json({ hello: 'world' }), text('')],
        { creation: refused(/contains no image/) },
        isPlain,
      ),
    ],
  ),
  row(
    'F1',
    'a state that goes backwards, progress of 101 or "50"',
    'clamped for display, never used for a decision',
    [
      once('progress of 101', video({ progress: 101 }), { 'look-up': all }, looksUpVideo),
      ...[-1, '50', null].map((progress) =>
        once(
          `progress of ${JSON.stringify(progress)}, the job being done`,
          video({ progress }),
          { 'look-up': all },
          waitsForVideo,
        ),
      ),
      inTurn(
        'running, queued, done',
        [video({ status: 'in_progress', progress: 50 }), video({ status: 'queued', progress: 0 })],
        { 'look-up': worksAt(3) },
        waitsForVideo,
      ),
    ],
  ),
  row('F2', 'an unknown word for a state', 'the job counts as running', [
    once('warming', video({ status: 'warming' }), { 'look-up': worksAt(2) }, waitsForVideo),
  ]),
  row(
    'F3',
    'a failure without a reason',
    '"no reason given"',
    [{}, { error: null }, { error: { code: null, message: null } }].map((more) =>
      once(
        JSON.stringify(more),
        video({ status: 'failed', ...more }),
        { 'look-up': { exit: 9, says: /no reason given/ } },
        waitsForVideo,
      ),
    ),
  ),
  row('F4', 'a job that is done, without its length and when it expires', 'nothing', [
    { name: 'neither', where: looksUpVideo, expects: { 'look-up': all } },
  ]),
  row('F5', 'look-ups that fail', 'the wait continues, and gives up after ten in a row or fifteen minutes', [
    inTurn('four times', times(4, busy), { 'look-up': worksAt(5) }, waits),
    inTurn('a page instead of the state, twice', times(2, pageOf('Busy')), { 'look-up': worksAt(3) }, waits),
    ever(
      'always',
      busy,
      { 'look-up': { ...later(10), says: /Looking up the job failed 10 times in a row/ } },
      waits,
    ),
    ever('always, of a single look-up', busy, { 'look-up': later(3) }, asksOnce),
  ]),
  row(
    'F6',
    'how often a job is looked up',
    "2 s, growing to 15 s with jitter; the gateway's hint comes first",
  ),
  row('F7', 'a reply about another job', 'refused', [
    once(
      'another id',
      video({ id: 'video_other' }),
      { 'look-up': { exit: 8, says: /video_other|another/ } },
      (call, exchange) => isOfVideo(exchange) && asksOnce(call),
    ),
  ]),
  row(
    'F8',
    'Ctrl-C while a job is waited for',
    'the command that continues is printed; the job is not cancelled',
  ),
  row('F9', 'the reply to a creation is lost', 'a job may exist; its idempotency key is on record'),
  row(
    'F10',
    'an operation name with `..`, a host or control characters',
    'refused; a name is never used as an address',
    ['../../secrets', 'https://example.invalid/x', 'models/veo/operations/..', 'a\nb', ''].map((name) =>
      once(
        JSON.stringify(name),
        json({ name }),
        { creation: { exit: 8, says: /A job may exist/ } },
        ({ name: called }: Call) => called.startsWith('video generate') || called === 'run, a video',
      ),
    ),
  ),
  row(
    'F19',
    'the clock jumps, the machine sleeps',
    'limits count on the monotonic clock; what came while the program stood still is read first',
  ),
  row(
    'F20',
    'the stream of a background response breaks off',
    'resumed after its last event, five times without a new one; nothing comes twice',
  ),
  row(
    'F11',
    'a result address that has expired',
    'the job is looked up once for a fresh one',
    [403, 410].flatMap((code) => [
      ever(
        `HTTP ${code}, for ever`,
        status(code),
        { download: { ...expired, ...goneAt(code), attempts: 2 } },
        isOfJob,
      ),
      once(
        `HTTP ${code}, of a result that belongs to no job`,
        status(code),
        { download: { ...expired, ...goneAt(code) } },
        (call: Call) => !isOfJob(call),
      ),
    ]),
  ),
  row('F12', '404 for a result that was just completed', 'asked for again for a few seconds', [
    once('once', status(404), { download: worksAt(2) }),
    ever('for ever', status(404), { download: { exit: 4, says: /HTTP 404/, attempts: 4 } }),
  ]),
  row(
    'F13',
    'a result address that leads elsewhere, inside the network, or is none',
    'https only, no private addresses, the key to the gateway alone; each redirect is checked again',
  ),
  row('F14', 'a download that breaks off', 'begun again', [
    once('closed', cut, { download: worksAt(2) }),
    once('reset before the headers', [readAll, reset], { download: worksAt(2) }),
    {
      name: 'closed, for ever',
      // A run begins a download again for as long as it goes on with its other tasks.
      where: (call) => !isRun(call),
      replies: (exchange) => always(cut(exchange)),
      expects: {
        download: { exit: 5, says: /closed the connection in the middle/, attempts: 3, leaves: 'damaged' },
      },
    },
  ]),
  row('F15', '`Range` is ignored', 'no part is asked for'),
  row('F16', 'a part in place of the whole', 'begun again', [
    once('once', part, { download: worksAt(2) }),
    ever('for ever', part, { download: { exit: 5, says: /HTTP 206/, attempts: 3 } }, (call) => !isRun(call)),
  ]),
  row(
    'F17',
    'an error page in place of a file',
    'refused: the first bytes decide',
    ['text/html', 'image/png', 'video/mp4'].map((type) =>
      ever(`a page called ${type}`, pageOf('Gone', { 'content-type': type }), {
        download: { exit: 8, says: /HTML|text\/html/ },
      }),
    ),
  ),
  row('F18', 'an empty file', 'refused', [
    ever('of a known length', text(''), { download: { exit: 8, says: /empty|0 bytes|no bytes/ } }),
  ]),
]
