import { blue, completed, failed, partial, red, stream } from '../replies.ts'
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
    name: 'a stream that ends after a partial image',
    words: streamed,
    reply: stream([partial(blue)]),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a stream that fails after its image',
    words: streamed,
    reply: stream([completed(red), failed]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream of three that ends after two',
    words: [...streamed, ...three],
    reply: stream([completed(red), partial(blue), completed(blue), partial(red)]),
    exit: 12,
    says: /^image 3 failed: The gateway sent only 2 of 3 images\.\nmodelgate: 1 of 3 images failed\./m,
    files: { 'x-1.png': red, 'x-2.png': blue },
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
