import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FieldValue, Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { buildRequest, creationOf } from '../../../src/pipeline/manifest/request-body.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { filesField, instanceOf, textField, textOfField, valueField } from '../../support/pipeline-task.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { mp4Bytes } from '../../support/video-bytes.ts'

const png = pngBytes()
const base64 = png.toString('base64')
const picture = { bytesBase64Encoded: base64, mimeType: 'image/png' }

/** The body of an instance whose references all are to the file `up.png`. */
async function sentBody(command: Instance['command'], fields: Readonly<Record<string, FieldValue>>) {
  const folder = temporaryFolder()
  const notes = '\ufeffa,b\r\n1,2\r\n'
  writeFiles(folder, {
    'a.png': png,
    'b.png': png,
    'up.png': png,
    'clip.mp4': mp4Bytes(),
    'notes.csv': notes,
  })
  const upstream = new Map([['@up', { files: [join(folder, 'up.png')], jobId: null }]])
  const instance = instanceOf({ command, model: 'm', fields })
  return (await buildRequest(testContext({ cwd: '/nowhere' }), instance, { folder, upstream })).body
}

test('content generation has its texts in messages, and flat fields in their objects', async () => {
  const fields = {
    prompt: textField('Name a river'),
    system: textField('Be short'),
    temperature: valueField(0.5),
    generation_config: valueField({ topK: 3 }),
    function_calling_mode: valueField('NONE'),
    attach: filesField('a.png', '@up'),
    schema: valueField({ type: 'object' }),
  }
  const image = { inlineData: { mimeType: 'image/png', data: base64 } }
  expect(await sentBody('generate', fields)).toEqual({
    contents: [{ role: 'user', parts: [image, image, { text: 'Name a river' }] }],
    systemInstruction: { parts: [{ text: 'Be short' }] },
    generationConfig: {
      temperature: 0.5,
      topK: 3,
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object' },
    },
    toolConfig: { functionCallingConfig: { mode: 'NONE' } },
  })
})

test('a response has its input as a text, unless something is attached', async () => {
  const fields = {
    input: textField('Hello'),
    instructions: textField('Be short'),
    reasoning_effort: valueField('low'),
    verbosity: valueField('low'),
    schema: valueField({ title: 'A caption', type: 'object' }),
  }
  const format = { type: 'json_schema', name: 'A_caption', schema: { title: 'A caption', type: 'object' } }
  const others = {
    model: 'm',
    instructions: 'Be short',
    reasoning: { effort: 'low' },
    text: { verbosity: 'low', format },
  }
  expect(await sentBody('respond', fields)).toEqual({ ...others, input: 'Hello' })
  const file_data = `data:text/plain;base64,${Buffer.from('a,b\n1,2\n').toString('base64')}`
  const notes = { type: 'input_file', filename: 'notes.csv', file_data }
  expect(await sentBody('respond', { ...fields, attach: filesField('notes.csv') })).toEqual({
    ...others,
    input: [{ role: 'user', content: [notes, { type: 'input_text', text: 'Hello' }] }],
  })
  const earlier = [{ role: 'user', content: 'Hello' }]
  const image = { type: 'input_image', image_url: `data:image/png;base64,${base64}` }
  expect(await sentBody('respond', { input: valueField(earlier), attach: filesField('a.png') })).toEqual({
    model: 'm',
    input: [...earlier, { role: 'user', content: [image] }],
  })
  // The manifest's own value stays as it is.
  expect(earlier).toHaveLength(1)
})

test('a video has its pictures in their places', async () => {
  const fields = {
    prompt: textField('It opens'),
    image: filesField('@up'),
    last_frame: filesField('b.png'),
    reference: {
      kind: 'files',
      files: [
        { source: { path: 'a.png' }, role: 'style' },
        { source: { path: 'b.png' }, role: null },
      ],
    } as const,
    duration_seconds: valueField(4),
  }
  expect(await sentBody('video generate', fields)).toEqual({
    instances: [
      {
        prompt: 'It opens',
        image: picture,
        lastFrame: picture,
        referenceImages: [
          { image: picture, referenceType: 'style' },
          { image: picture, referenceType: 'asset' },
        ],
      },
    ],
    parameters: { durationSeconds: 4 },
  })
  expect(await sentBody('video generate', { video: filesField('clip.mp4') })).toEqual({
    instances: [{ video: { encodedVideo: mp4Bytes().toString('base64'), encoding: 'video/mp4' } }],
    parameters: {},
  })
})

test.each<[Instance['command'], Readonly<Record<string, FieldValue>>, RegExp]>([
  ['video generate', { image: filesField('x.png'), last_frame: filesField('y.png') }, /x\.png[^]*y\.png/],
  ['respond', { input: textOfField('@up') }, /^input: .*up\.png" is not a text in UTF-8\.$/],
  ['video generate', { video: filesField('@up') }, /^video .*up\.png" is not a video but image\/png\.$/],
])('what is wrong with the files of %s is told at once: %j', async (command, fields, message) => {
  await expect(sentBody(command, fields)).rejects.toThrow(message)
})

test('the creation of an instance is known from its fields alone', () => {
  const prompt = textField('A kite')
  const image = { prompt, size: valueField('1024x1024') }
  expect(creationOf(instanceOf({ command: 'image create', count: 3, fields: image }))).toEqual({
    model: 'sandbox-image',
    count: 3,
    of: 'image',
    variant: { size: '1024x1024', quality: null },
  })
  const video = { prompt, duration_seconds: valueField(8), resolution: valueField('720p') }
  const variant = { size: '720p', quality: null }
  const creation = { model: 'sandbox-video', count: 1, of: 'video', variant, seconds: 8 }
  expect(creationOf(instanceOf({ command: 'video generate', fields: video }))).toEqual(creation)
})
