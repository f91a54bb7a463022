import { closeDelimited } from '../../../support/server-replies.ts'
import { blue, images, large, red, resultOf } from '../replies.ts'
import { decodable, half, three, type OddReply } from './odd-reply.ts'

const cutText = JSON.stringify(resultOf(red, large, blue)).slice(0, 5000)

/** Replies with more or fewer items than were asked for, and with some that are broken. */
export const severalReplies: readonly OddReply[] = [
  {
    name: 'fewer than asked',
    words: three,
    reply: images(red, blue),
    exit: 12,
    says: /^image 3 failed: The gateway sent only 2 of 3 images\.\nmodelgate: 1 of 3 images failed\./m,
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'more than asked',
    reply: images(red, blue),
    exit: 0,
    says: /2 images received, 1 requested/,
    files: { 'x.png': red, 'x-2.png': blue },
  },
  {
    name: 'one of three broken',
    words: three,
    reply: images(red, { b64_json: '*' }, blue),
    exit: 12,
    says: /image 2 failed: .*base64/,
    files: { 'x-1.png': red, 'x-3.png': blue },
  },
  {
    name: 'one of three damaged',
    words: three,
    reply: images(red, half, blue),
    exit: 12,
    says: /image 2 failed: The gateway sent a damaged image: .* It is kept as "x-2\.damaged\.png"\./,
    files: { 'x-1.png': red, 'x-3.png': blue },
    damaged: { 'x-2.damaged.png': half },
  },
  {
    name: 'all of three broken',
    words: three,
    reply: images({}, {}, { b64_json: '*' }),
    exit: 8,
    code: 'no_image',
  },
  {
    name: 'cut after the first of three',
    words: three,
    reply: closeDelimited([cutText]),
    exit: 7,
    files: { 'x-1.png': red },
    damaged: { 'x-2.damaged.png': decodable(cutText) },
  },
]
