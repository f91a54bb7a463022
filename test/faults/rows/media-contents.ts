import { json, text } from '../../support/server-replies.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { event, isStream, streamOf } from './spoil.ts'

const picture = pngBytes({ width: 2, height: 1 })
const base64 = picture.toString('base64')
const all: Expected = { exit: 0, leaves: 'all' }

const makesImage = ({ name }: Call, { role }: Exchange) => role === 'creation' && /image/.test(name)
/** An image that comes in the reply to its creation, as one JSON value. */
const isPlain = (call: Call, exchange: Exchange) =>
  makesImage(call, exchange) && !isStream(call, exchange) && !call.name.includes('by URL')

const answered = (name: string, items: readonly object[], expected: Expected): FaultVariant => ({
  name,
  where: isPlain,
  replies: () => [json({ created: 1, data: items })],
  expects: { creation: expected },
})
const refused = (says: RegExp, code?: string): Expected => ({
  exit: 8,
  says,
  ...(code !== undefined && { error: { code } }),
  leaves: 'nothing',
})

/** What stands for the bytes in base64, the bytes being the same. */
const spellings: Readonly<Record<string, string>> = {
  'line breaks': base64.replaceAll(/.{20}/g, '$&\r\n'),
  'spaces and tabs': ` ${base64.replaceAll(/.{7}/g, '$& \t')}`,
  'the URL alphabet': base64.replaceAll('+', '-').replaceAll('/', '_'),
  'no padding': base64.replaceAll('=', ''),
  'a data URL': `data:image/png;base64,${base64}`,
}

/** E34 to E38: what images are, and how many. */
export const mediaContents: readonly FaultRow[] = [
  row(
    'E34',
    'base64 with white space, in the URL alphabet, without padding, or with other characters',
    'read; other characters are refused',
    [
      ...Object.entries(spellings).map(([name, b64_json]) => answered(name, [{ b64_json }], all)),
      ...Object.entries(spellings).map(([name, b64_json]): FaultVariant => ({
        name: `${name}, in an event`,
        where: (call, exchange) => makesImage(call, exchange) && isStream(call, exchange),
        replies: (exchange) => [
          streamOf(exchange, (_, index) =>
            index === 0 ? event({ type: 'image_generation.completed', b64_json }) : [],
          ),
        ],
        expects: { creation: all },
      })),
      answered(
        'a character that is none of it',
        [{ b64_json: `${base64.slice(0, 30)}!${base64.slice(31)}` }],
        {
          ...refused(/base64/),
        },
      ),
    ],
  ),
  row(
    'E35',
    'partial images after the final one, or none of those that were asked for',
    'the final image counts',
    [
      {
        name: 'behind it',
        where: (call, exchange) => makesImage(call, exchange) && isStream(call, exchange),
        replies: (exchange) => [
          streamOf(exchange, (piece) => [
            piece,
            event({ type: 'image_generation.partial_image', b64_json: base64, partial_image_index: 0 }),
          ]),
        ],
        expects: { creation: all },
      },
      {
        name: 'before it, unasked',
        where: (call, exchange) => makesImage(call, exchange) && isStream(call, exchange),
        replies: (exchange) => [
          streamOf(exchange, (piece) => [
            event({ type: 'image_generation.partial_image', b64_json: base64, partial_image_index: 0 }),
            piece,
          ]),
        ],
        expects: { creation: all },
      },
    ],
  ),
  row('E36', 'an image that is none: a page, a text, nothing', 'refused: the first bytes decide', [
    answered('a page', [{ b64_json: Buffer.from('<!doctype html><title>No</title>').toString('base64') }], {
      ...refused(/HTML|not an image|no image/),
    }),
    answered('a text', [{ b64_json: Buffer.from('not an image at all').toString('base64') }], {
      ...refused(/sent text\/plain instead of an image/),
    }),
    answered(
      'nothing',
      [{ b64_json: '' }],
      refused(/an image without base64 or a URL/, 'reply_not_understood'),
    ),
  ]),
  row(
    'E37',
    'fewer or more results than were asked for',
    'what came is kept, and the difference is reported',
    [
      {
        name: 'none',
        where: isPlain,
        replies: () => [json({ created: 1, data: [] })],
        expects: { creation: { exit: 9, says: /answered without an image/, leaves: 'nothing' } },
      },
    ],
    'some of several: test/program/images/odd-replies.test.ts',
  ),
  row(
    'E38',
    'an image both as a URL and in base64, or in neither way',
    'the bytes are taken; neither is refused',
    [
      answered('both', [{ url: 'https://example.invalid/x.png', b64_json: base64 }], all),
      answered('neither', [{ revised_prompt: 'A boat' }], refused(/an image without base64 or a URL/)),
      {
        name: 'a reply without images',
        where: isPlain,
        replies: () => [json({ hello: 'world' }), text('')],
        expects: { creation: refused(/contains no image/) },
      },
    ],
  ),
]
