import { expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import { end, head, readAll, write, type ServerReply } from '../../support/server-replies.ts'
import { workspaceAt } from './image-run.ts'
import { completed, images, red } from './replies.ts'

const manyImages = Array.from({ length: 300 }, () => red)
const file: ServerReply = [
  readAll,
  write(head(200, { 'content-type': 'image/png', 'content-length': String(red.length) })),
  write(red),
  end,
]
const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => `x${at === 0 ? '' : `-${at + 1}`}.png`)

test.each<[string, () => readonly ServerReply[]]>([
  ['a document', () => [images(...manyImages)]],
  [
    'a stream',
    () => [
      [
        readAll,
        write(head(200, { 'content-type': 'text/event-stream' })),
        write(manyImages.map(completed).join('')),
        end,
      ],
    ],
  ],
  [
    'addresses',
    () => [
      images(...manyImages.map((_, at) => ({ url: `/${at}` }))),
      ...Array.from({ length: 10 }, () => file),
    ],
  ],
])('one image asked and 300 answered in %s: ten are kept, and the others told', async (_, replies) => {
  const workspace = workspaceAt(await localServer(replies()))
  const { code, out, err } = await workspace.run(['create', '-m', 'm', '-o', 'x.png', 'A kite'])
  expect([code, out]).toEqual([0, `${numbered(10).join('\n')}\n`])
  expect(workspace.files().toSorted()).toEqual(numbered(10).toSorted())
  const warnings = err.split('\n').filter((line) => line.startsWith('warning:'))
  expect(warnings).toEqual(['warning: 300 images received, 1 requested; the first 10 are kept.'])
})

test('of previews no more are kept than one request can ask for', async () => {
  const preview = {
    type: 'image_generation.partial_image',
    partial_image_index: 0,
    b64_json: red.toString('base64'),
  }
  const event = `data: ${JSON.stringify(preview)}\n\n`
  const reply: ServerReply = [
    readAll,
    write(head(200, { 'content-type': 'text/event-stream' })),
    write(event.repeat(300) + completed(red)),
    end,
  ]
  const workspace = workspaceAt(await localServer([reply]))
  const words = ['--stream', '--partial-images', '1', '--save-partials', '-o', 'x.png', 'A kite']
  const { code } = await workspace.run(['create', '-m', 'm', ...words])
  // Three for each of the ten images of the greatest request, and the image itself.
  expect([code, workspace.files().length]).toEqual([0, 31])
})
