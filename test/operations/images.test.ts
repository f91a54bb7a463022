import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OutputEvent } from '../../src/events/documents.ts'
import {
  imageGatewayRequest,
  imageRequest,
  type ImagePlan,
  type ImageRequest,
} from '../../src/operations/image-request.ts'
import { imageFromBytes } from '../../src/operations/image-sources.ts'
import type { ShownImage } from '../../src/operations/image-results.ts'
import { makeImages } from '../../src/operations/make-images.ts'
import type { Call } from '../../src/operations/operation.ts'
import { createProblemList } from '../../src/problems.ts'
import { testGateway } from '../gateway/test-gateway.ts'
import { blue, completed, images, partial, red, stream } from '../program/images/replies.ts'
import { localServer } from '../support/local-server.ts'
import { closeDelimited, type ServerReply } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const files: ImagePlan = { output: 'x.png', download: true }

/** What a program that is no command line gives the operations. */
async function worker(replies: readonly ServerReply[], { body = {}, plan = files } = {}) {
  const server = await localServer(replies)
  const cwd = temporaryFolder()
  const context = testContext({ cwd })
  const events: OutputEvent[] = []
  let hasSent = false
  const call: Call = {
    context,
    gateway: testGateway(server.url, { clock: context.clock, onSend: () => void (hasSent = true) }),
    listener: { event: (event) => void events.push(event), async flush() {} },
    redactor: { text: (text) => text, document: (document) => document },
    rescueFolder: join(cwd, 'rescued'),
    hasSent: () => hasSent,
  }
  const problems = createProblemList()
  const request = (parts: Partial<ImageRequest> = {}) =>
    imageRequest(
      context,
      {
        command: 'image create',
        model: 'm',
        family: undefined,
        body: { prompt: 'A kite', ...body },
        images: [],
        mask: undefined,
        warnings: [],
        validate: true,
        ...parts,
      },
      plan,
      problems,
    )
  return { server, cwd, context, call, events, problems, request }
}

test('images are saved, and every step is an event', async () => {
  const { cwd, call, events, request } = await worker([images(red, blue)], { body: { n: 2 } })
  const outcome = await makeImages(call, await request({ warnings: ['Odd.'] }), files)
  expect(outcome).toMatchObject({
    kind: 'ended',
    failure: undefined,
    document: {
      command: 'image create',
      model: 'm',
      files: [{ path: 'x-1.png' }, { path: 'x-2.png' }],
      usage: { total_tokens: 3 },
      request_id: 'req-1',
      warnings: ['Odd.'],
    },
  })
  expect(events.map(({ type }) => type)).toEqual(['start', 'warning-add', 'image-save', 'image-save'])
  expect(readFileSync(join(cwd, 'x-1.png')).equals(red)).toBe(true)
})

test('an image from an address has the prompt that the reply says', async () => {
  const { call, request } = await worker([
    images({ url: '/a.png', revised_prompt: 'A red kite' }),
    closeDelimited([red]),
  ])
  const plan = { ...files, allowPrivateUrls: true }
  expect(await makeImages(call, await request(), plan)).toMatchObject({
    document: { files: [{ path: 'x.png', revised_prompt: 'A red kite' }] },
  })
})

test('a viewer is shown each image, and its previews', async () => {
  const { call, request } = await worker([stream([partial(blue), completed(red)])], {
    body: { stream: true },
  })
  const shown: ShownImage[] = []
  const viewer = { show: async (image: ShownImage) => void shown.push(image) }
  await makeImages(call, await request(), files, viewer)
  expect(shown).toEqual([
    { index: 1, partial: 0, count: 1, partials: null, bytes: blue },
    { index: 1, partial: null, count: 1, partials: null, path: 'x.png' },
  ])
})

test('an edit sends its sources as the parts of a form', async () => {
  const { server, call, request } = await worker([images(red)])
  const source = imageFromBytes({ field: 'image', name: 'the picture' }, 'a job', 'in', blue)
  const edit = await request({ command: 'image edit', images: [source] })
  expect(imageGatewayRequest(call.gateway, edit).content).toEqual({
    parts: [
      { name: 'prompt', value: 'A kite' },
      { name: 'image', path: 'a job', file_name: 'in.png', media_type: 'image/png', bytes: blue.length },
    ],
  })
  await makeImages(call, edit, files)
  expect(server.requests[0]!.line).toBe('POST /v1/images/edits HTTP/1.1')
  expect(server.requests[0]!.body.includes(blue)).toBe(true)
})

test('problems with sources and files go to the list, and name what messages call them', async () => {
  const { cwd, problems, request } = await worker([])
  writeFiles(cwd, { 'x.png': 'taken' })
  const bytes = Buffer.from('words')
  const source = imageFromBytes({ field: 'image', name: 'the picture' }, 'a job', 'in', bytes)
  await request({ command: 'image edit', images: [source] })
  expect(() => problems.throwIfAny()).toThrow(
    /^the picture "a job" is not an image that can be read \(.*\)\. --no-validate sends it anyway\.\n.*x\.png.* exists/,
  )
})
