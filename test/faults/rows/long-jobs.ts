import { json, text, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow } from '../row.ts'

const all: Expected = { exit: 0, leaves: 'all' }
const later = (attempts: number): Expected => ({ exit: 5, says: /HTTP 503/, attempts, leaves: 'nothing' })

const isOfVideo = ({ asks }: Exchange) => asks.source.includes('video_0123456789 ')
/** A video, not an operation: its state has a word and a number. */
const looksUpVideo = (_: Call, exchange: Exchange) => isOfVideo(exchange)
/** Waits for the end of a job, so that a look-up that fails is one of many. */
const waits = ({ name }: Call) => /wait/.test(name) && !/no-wait|response/.test(name)
const asksOnce = ({ name }: Call) => / status| cancel/.test(name)

const video = (more: object): ServerReply =>
  json({ id: 'video_0123456789', object: 'video', status: 'completed', progress: 100, ...more })
const busy = text('', { status: 503 })
const times = (count: number, reply: ServerReply) => Array<ServerReply>(count).fill(reply)

/** F1 to F10, F19, F20: jobs that take minutes. */
export const longJobs: readonly FaultRow[] = [
  row(
    'F1',
    'a state that goes backwards, progress of 101 or "50"',
    'clamped for display, never used for a decision',
    [
      {
        name: 'progress of 101',
        where: looksUpVideo,
        replies: () => [video({ progress: 101 })],
        expects: { 'look-up': all },
      },
      ...[-1, '50', null].map((progress) => ({
        name: `progress of ${JSON.stringify(progress)}, the job being done`,
        where: (call: Call, exchange: Exchange) => isOfVideo(exchange) && waits(call),
        replies: () => [video({ progress })],
        expects: { 'look-up': all },
      })),
      {
        name: 'running, queued, done',
        where: (call, exchange) => isOfVideo(exchange) && waits(call),
        replies: () => [
          video({ status: 'in_progress', progress: 50 }),
          video({ status: 'queued', progress: 0 }),
        ],
        expects: { 'look-up': { ...all, attempts: 3 } },
      },
    ],
  ),
  row('F2', 'an unknown word for a state', 'the job counts as running', [
    {
      name: 'warming',
      where: (call, exchange) => isOfVideo(exchange) && waits(call),
      replies: () => [video({ status: 'warming' })],
      expects: { 'look-up': { ...all, attempts: 2 } },
    },
  ]),
  row(
    'F3',
    'a failure without a reason',
    '"no reason given"',
    [{}, { error: null }, { error: { code: null, message: null } }].map((more) => ({
      name: JSON.stringify(more),
      where: (call: Call, exchange: Exchange) => isOfVideo(exchange) && waits(call),
      replies: () => [video({ status: 'failed', ...more })],
      expects: { 'look-up': { exit: 9, says: /no reason given/, leaves: 'nothing' as const } },
    })),
  ),
  row('F4', 'a job that is done, without its length and when it expires', 'nothing', [
    { name: 'neither', where: looksUpVideo, expects: { 'look-up': all } },
  ]),
  row('F5', 'look-ups that fail', 'the wait continues, and gives up after ten in a row or fifteen minutes', [
    {
      name: 'four times',
      where: waits,
      replies: () => times(4, busy),
      expects: { 'look-up': { ...all, attempts: 5 } },
    },
    {
      name: 'a page instead of the state, twice',
      where: waits,
      replies: () => times(2, text('<!doctype html><title>Busy</title>')),
      expects: { 'look-up': { ...all, attempts: 3 } },
    },
    {
      name: 'always',
      where: waits,
      replies: () => times(100, busy),
      expects: { 'look-up': { ...later(10), says: /Looking up the job failed 10 times in a row/ } },
    },
    {
      name: 'always, of a single look-up',
      where: asksOnce,
      replies: () => times(10, busy),
      expects: { 'look-up': later(3) },
    },
  ]),
  row(
    'F6',
    'how often a job is looked up',
    "2 s, growing to 15 s with jitter; the gateway's hint comes first",
    [],
    'test/gateway/videos/wait-for-job.test.ts',
  ),
  row('F7', 'a reply about another job', 'refused', [
    {
      name: 'another id',
      where: (call, exchange) => isOfVideo(exchange) && asksOnce(call),
      replies: () => [video({ id: 'video_other' })],
      expects: { 'look-up': { exit: 8, says: /video_other|another/, leaves: 'nothing' } },
    },
  ]),
  row(
    'F8',
    'Ctrl-C while a job is waited for',
    'the command that continues is printed; the job is not cancelled',
    [],
    'test/program/videos/waiting.test.ts',
  ),
  row(
    'F9',
    'the reply to a creation is lost',
    'a job may exist; its idempotency key is on record',
    [],
    'B2; test/program/videos/records.test.ts',
  ),
  row(
    'F10',
    'an operation name with `..`, a host or control characters',
    'refused; a name is never used as an address',
    ['../../secrets', 'https://example.invalid/x', 'models/veo/operations/..', 'a\nb', ''].map((name) => ({
      name: JSON.stringify(name),
      where: ({ name: called }: Call) => called.startsWith('video generate') || called === 'run, a video',
      replies: () => [json({ name })],
      expects: { creation: { exit: 8, says: /A job may exist/, leaves: 'nothing' as const } },
    })),
  ),
  row(
    'F19',
    'the clock jumps, the machine sleeps',
    'limits count on the monotonic clock; what came while the program stood still is read first',
    [],
    'test/crashes/moved-clock.long.test.ts, suspended.long.test.ts',
  ),
  row(
    'F20',
    'the stream of a background response breaks off',
    'resumed after its last event, five times without a new one; nothing comes twice',
    [],
    'test/program/responses/resume.test.ts',
  ),
]
