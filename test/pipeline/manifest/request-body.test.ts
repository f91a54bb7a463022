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
const picture = { bytesBase64Encoded: png.toString('base64'), mimeType: 'image/png' }

/** The body of an instance whose references all are to the file `up.png`. */
async function sentBody(
  command: Instance['command'],
  fields: Readonly<Record<string, FieldValue>>,
  model = 'm',
) {
  const folder = temporaryFolder()
  const clip = mp4Bytes()
  writeFiles(folder, {
    'a.png': png,
    'b.png': png,
    'up.png': png,
    'clip.mp4': clip,
    'notes.csv': '\ufeffa,b\r\n1,2\r\n',
  })
  const files = [join(folder, 'up.png')]
  const upstream = new Map([['@up', { files, jobId: null }]])
  const context = testContext({ cwd: '/nowhere' })
  const request = await buildRequest(context, instanceOf({ command, model, fields }), { folder, upstream })
  return request.body
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
  const image = { inlineData: { mimeType: 'image/png', data: png.toString('base64') } }
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
  const notes = {
    type: 'input_file',
    filename: 'notes.csv',
    file_data: `data:text/plain;base64,${Buffer.from('a,b\n1,2\n').toString('base64')}`,
  }
  const content = [notes, { type: 'input_text', text: 'Hello' }]
  expect(await sentBody('respond', { ...fields, attach: filesField('notes.csv') })).toEqual({
    ...others,
    input: [{ role: 'user', content }],
  })
  const earlier = [{ role: 'user', content: 'Hello' }]
  expect(await sentBody('respond', { input: valueField(earlier), attach: filesField('a.png') })).toEqual({
    model: 'm',
    input: [
      ...earlier,
      {
        role: 'user',
        content: [{ type: 'input_image', image_url: `data:image/png;base64,${png.toString('base64')}` }],
      },
    ],
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

test('what is wrong with several files is told at once', async () => {
  const fields = { image: filesField('x.png'), last_frame: filesField('y.png') }
  await expect(sentBody('video generate', fields)).rejects.toThrow(/x\.png[^]*y\.png/)
})

test('a prompt that another job makes has to be a text', async () => {
  await expect(sentBody('respond', { input: textOfField('@up') })).rejects.toThrow(
    /^input: .*up\.png" is not a text in UTF-8\.$/,
  )
})

test('a picture that another job makes has to be one', async () => {
  await expect(sentBody('video generate', { video: filesField('@up') })).rejects.toThrow(
    /^video .*up\.png" is not a video but image\/png\.$/,
  )
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
  expect(creationOf(instanceOf({ command: 'video generate', fields: video }))).toEqual({
    model: 'sandbox-video',
    count: 1,
    of: 'video',
    variant: { size: '720p', quality: null },
    seconds: 8,
  })
})
