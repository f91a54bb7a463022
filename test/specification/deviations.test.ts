import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { edit, part } from '../support/image-calls.ts'
import { projectRoot } from '../support/generated-files.ts'
import { call, generate, respond, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testImages } from '../support/test-images.ts'
import { makeVideo, operate } from '../support/video-calls.ts'
import { documentOf, requestOf, setFlags } from './both-sides.ts'

const taken = [0, 200]
const refused = [2, 400]

/** What both sides say to fields: the program's exit code and the sandbox's status. */
async function answers(command: string, fields: Json, { path, body = {}, words = [] }: Json = {}) {
  const { code } = await requestOf([...command.split(' '), ...setFlags(fields), ...words])
  const { status } = await call(await runningSandbox(), path, { ...body, ...fields })
  return [code, status]
}
const ofResponse = (fields: Json) =>
  answers('respond', fields, { path: '/v1/responses', body: { input: 'hi' }, words: ['hi'] })
const ofImage = (fields: Json) => answers('image create', fields, { path: '/v1/images/generations' })
const ofVideo = (fields: Json) =>
  answers('video generate -m sandbox-video', fields, {
    path: '/v1beta/models/sandbox-video:predictLongRunning',
  })

/** Both for an edit of one picture. */
async function ofEdit(prompt: string) {
  const folder = temporaryFolder()
  const { png } = await testImages(64)
  writeFiles(folder, { 'a.png': png })
  const { code } = await requestOf(['image', 'edit', '--image', join(folder, 'a.png'), prompt])
  return [code, (await edit(await runningSandbox(), { prompt }, [part(png)])).status]
}

/** Where a side deviates from the specification on purpose; the reasons are in docs/wire-notes.md, "Deviations". */
const deviations: Readonly<Record<string, () => Promise<void>>> = {
  async 'other model ids'() {
    const fields = { model: 'my-model', prompt: 'x', quality: 'ultra', output_format: 'png', size: '640x480' }
    expect((await requestOf(['image', 'create', ...setFlags(fields)])).code).toBe(0)
    expect(await ofImage({ model: 'my-model', prompt: 'x', size: '640x480' })).toEqual(taken)
    const path = '/v1/videos/video_sandbox_source/remix'
    const remix = ['video', 'remix', 'video_sandbox_source', '-m', 'my-model', 'night']
    expect((await requestOf(remix)).code).toBe(0)
    const sandbox = await runningSandbox()
    expect((await call(sandbox, path, { model: 'my-model', prompt: 'night' })).status).toBe(200)
  },

  async 'no model'() {
    expect(await ofEdit('x'.repeat(1001))).toEqual([0, 400])
    expect((await requestOf(['image', 'create', '--set', 'quality="some"', 'x'])).code).toBe(0)
  },

  async 'sizes of later models'() {
    const fields = { model: 'gpt-image-2', prompt: 'x', size: '1920x1088' }
    expect(await ofImage(fields)).toEqual(taken)
    const { json: answer } = await call(await runningSandbox(), '/v1/images/generations', fields)
    expect(answer.size).toBe('1920x1088')
  },

  async 'other sizes of a video'() {
    const sandbox = await runningSandbox()
    expect((await makeVideo(sandbox, { size: '1792x1024' })).json.size).toBe('1792x1024')
  },

  async '`size` of an edit by model A'() {
    const fields = { model: 'image-model-a', prompt: 'x' }
    const { png } = await testImages(96, 64)
    expect((await edit(await runningSandbox(), fields, [part(png)])).json.size).toBe('1536x1024')
  },

  async '`stream` false with models B and C'() {
    for (const model of ['image-model-b', 'image-model-c']) {
      expect(await ofImage({ model, prompt: 'x', stream: false })).toEqual(taken)
    }
  },

  async 'empty values'() {
    expect(await ofImage({ prompt: '' })).toEqual(refused)
    expect(await ofVideo({ instances: [], parameters: {} })).toEqual(refused)
    const path = '/v1beta/models/sandbox-text:streamGenerateContent'
    for (const contents of [[], [{ parts: [] }]]) {
      expect(await answers('generate', { contents }, { path })).toEqual(refused)
    }
  },

  async '`max_output_tokens` below 1'() {
    expect(await ofResponse({ max_output_tokens: 0 })).toEqual(refused)
  },

  async '`prompt` of a response as an object'() {
    expect(await ofResponse({ prompt: { id: 'pmpt_1' } })).toEqual(taken)
  },

  async '`stream_options` null'() {
    expect(await ofResponse({ stream_options: null })).toEqual(taken)
  },

  async '`reasoning.effort` null'() {
    expect(await ofResponse({ reasoning: { effort: null } })).toEqual(taken)
    const { json: answer } = await respond(await runningSandbox(), 'hi')
    expect(answer.reasoning).toEqual({ effort: null, summary: null })
  },

  async 'other fields of a request'() {
    expect(await ofResponse({ of_2030: 1 })).toEqual([0, 400])
  },

  async 'inner shapes'() {
    expect(await ofResponse({ tools: [{ type: 'of_2030' }] })).toEqual([0, 400])
    expect(await ofResponse({ tools: [{}] })).toEqual(refused)
  },

  async 'a call that is required of no tool'() {
    expect(await ofResponse({ tool_choice: 'required' })).toEqual([0, 400])
    const toolConfig = { functionCallingConfig: { mode: 'ANY' } }
    const path = '/v1beta/models/sandbox-text:streamGenerateContent'
    const body = { contents: [{ parts: [{ text: 'hi' }] }] }
    expect(await answers('generate', { toolConfig }, { path, body, words: ['hi'] })).toEqual([0, 400])
  },

  async 'an instance without a prompt'() {
    const bytesBase64Encoded = Buffer.from((await testImages(64)).png).toString('base64')
    const image = { bytesBase64Encoded, mimeType: 'image/png' }
    expect(await ofVideo({ instances: [{ image }], parameters: {} })).toEqual(taken)
  },

  async '`sampleCount` and `durationSeconds`'() {
    const sandbox = await runningSandbox()
    for (const parameters of [{ sampleCount: 17 }, { durationSeconds: 61 }]) {
      expect((await operate(sandbox, parameters)).status).toBe(400)
      const set = ['--set', `parameters=${JSON.stringify(parameters)}`]
      expect((await requestOf(['video', 'generate', '-m', 'v', ...set, 'x'])).code).toBe(0)
    }
  },

  async 'other ways to send a key'() {
    const sandbox = await runningSandbox()
    const path = '/v1beta/models/sandbox-text:streamGenerateContent'
    const body = { contents: [{ parts: [{ text: 'hi' }] }] }
    const google = { headers: { authorization: '', 'x-goog-api-key': 'key' } }
    expect((await call(sandbox, path, body, google)).status).toBe(200)
    const inQuery = { headers: { authorization: '' } }
    expect((await call(sandbox, `${path}?key=key`, body, inQuery)).status).toBe(200)
    expect((await call(sandbox, '/v1/responses', { input: 'hi' }, google)).status).toBe(401)
  },

  async 'other fields of a reply'() {
    const sandbox = await runningSandbox()
    const { json: answer } = await respond(sandbox, 'hi')
    expect(answer).toMatchObject({ store: true, completed_at: expect.any(Number) })
    expect((await generate(sandbox, 'hi')).text).toContain('"responseId"')
  },

  async 'required fields that a reply lacks'() {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }]
    const response = await documentOf(['respond', '--no-stream', 'hi'], json({ object: 'response', output }))
    expect([response.code, response.document.text]).toEqual([0, 'Hello'])
    const b64_json = Buffer.from((await testImages(32)).png).toString('base64')
    const image = await documentOf(['image', 'create', 'x'], json({ data: [{ b64_json, url: null }] }))
    expect([image.code, image.document.files.length]).toEqual([0, 1])
  },
}

test.each(Object.entries(deviations))('%s', async (_, holds) => {
  await expect(holds()).resolves.toBeUndefined()
})

test('docs/wire-notes.md has the reason of each', () => {
  const notes = readFileSync(new URL('docs/wire-notes.md', projectRoot), 'utf8')
  const [, section = ''] = notes.split('## Deviations\n')
  const rows = [...section.matchAll(/^\| (.+?) +\| .+ \| .+ \|$/gm)].map(([, title]) => title)
  expect(rows.slice(2)).toEqual(Object.keys(deviations))
})
