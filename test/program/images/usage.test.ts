import { expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import type { Json } from '../../support/running-sandbox.ts'
import { json } from '../../support/server-replies.ts'
import { workspaceAt } from './image-run.ts'
import { base64, failed, red, stream } from './replies.ts'

/** As the specification has it. */
const usage = (total: number) => ({
  input_tokens: 50,
  input_tokens_details: { image_tokens: 40, text_tokens: 10 },
  output_tokens: total - 50,
  total_tokens: total,
})
const shown = {
  input_tokens: 50,
  cached_tokens: null,
  output_tokens: 50,
  reasoning_tokens: null,
  total_tokens: 100,
  input_image_tokens: 40,
  input_text_tokens: 10,
}
const line = 'tokens: 50 in (40 image, 10 text), 50 out, 100 total\n'
const completed = (more: object) =>
  `data: ${JSON.stringify({ type: 'image_generation.completed', b64_json: base64(red), ...more })}\n\n`

const words = ['create', '-m', 'm', '-o', 'x.png', 'A kite']
const several = ['-n', '2', '--stream']

test.each([
  ['a document', [], json({ created: 1, data: [{ b64_json: base64(red) }], usage: usage(100) }), 0],
  [
    'several events, the last of all',
    several,
    stream([completed({ usage: usage(75) }), completed({ usage: usage(100) })]),
    0,
  ],
  ['several events, only the first', several, stream([completed({ usage: usage(100) }), completed({})]), 0],
  ['a stream that fails later', several, stream([completed({ usage: usage(100) }), failed]), 12],
  ['a stream that is cut later', several, stream([completed({ usage: usage(100) })], { ending: 'reset' }), 7],
] as const)('usage is told of %s', async (_, more, reply, exit) => {
  const server = await localServer([reply, reply, reply])
  const asJson = await workspaceAt(server).run([...words, ...more, '--json'])
  expect(asJson.code).toBe(exit)
  const document =
    exit === 7
      ? JSON.parse(asJson.err.split('\n').find((text) => text.startsWith('{'))!).partial
      : JSON.parse(asJson.out)
  expect((document as Json).usage).toEqual(shown)
  for (const mode of [[], ['--raw']]) {
    const { code, err } = await workspaceAt(server).run([
      ...words.filter((word) => mode.length === 0 || (word !== '-o' && word !== 'x.png')),
      ...more,
      ...mode,
      '--usage',
    ])
    expect(code).toBe(exit)
    expect(err).toContain(line)
  }
})
