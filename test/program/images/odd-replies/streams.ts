import { blue, completed, failed, images, partial, red, stream } from '../replies.ts'
import { html, streamed, three, type OddReply } from './odd-reply.ts'

/** Event streams, asked for or not. */
export const streamReplies: readonly OddReply[] = [
  {
    name: 'a stream',
    words: streamed,
    reply: stream([partial(blue), completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream with [DONE]',
    words: streamed,
    reply: stream([completed(red), 'data: [DONE]\n\n']),
    exit: 0,
    files: { 'x.png': red },
  },
  { name: 'a JSON reply to a stream', words: streamed, reply: images(red), exit: 0, files: { 'x.png': red } },
  {
    name: 'a stream that was not asked for',
    reply: stream([completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream with an error',
    words: streamed,
    reply: stream([partial(blue), failed]),
    exit: 9,
    says: /It broke\./,
  },
  {
    name: 'a stream that begins with an error',
    words: streamed,
    reply: stream([failed]),
    exit: 9,
    says: /It broke\./,
  },
  {
    name: 'a stream that ends after a partial image',
    words: streamed,
    reply: stream([partial(blue)]),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a stream that is cut in its image',
    words: streamed,
    reply: stream([completed(red).slice(0, 90)], { ending: 'reset' }),
    exit: 7,
  },
  {
    name: 'a stream that breaks after its image',
    words: streamed,
    reply: stream([completed(red)], { ending: 'reset' }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream that fails after its image',
    words: streamed,
    reply: stream([completed(red), failed]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream of nothing',
    words: streamed,
    reply: stream([': ping\n\n']),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a stream of three that fails after one',
    words: [...streamed, ...three],
    reply: stream([completed(red), failed]),
    exit: 12,
    says: /image 2 failed: .*It broke/,
    files: { 'x-1.png': red },
  },
  {
    name: 'a stream of three that is cut after one',
    words: [...streamed, ...three],
    reply: stream([completed(red)], { ending: 'cut' }),
    exit: 7,
    files: { 'x-1.png': red },
  },
  {
    name: 'a partial image that is broken',
    words: [...streamed, '--save-partials'],
    reply: stream([partial(Buffer.from(html)), completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
]
