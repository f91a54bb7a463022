import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { create, edit, part } from '../support/image-calls.ts'
import { call, generate, respond, runningSandbox } from '../support/running-sandbox.ts'
import { testImages } from '../support/test-images.ts'

const generateText = async (sandbox: Sandbox, more = {}) => {
  const path = '/v1beta/models/m:generateContent'
  const { json } = await call(sandbox, path, { contents: [{ parts: [{ text: 'Name a river' }] }], ...more })
  return json.candidates[0].content.parts[0].text as string
}
const picture = { model: 'my-own', prompt: 'a quiet lake', size: '256x256', response_format: 'b64_json' }
const { png } = await testImages(64)
const createPicture = async (sandbox: Sandbox) =>
  (await create(sandbox, picture)).json.data[0].b64_json as string
const editPicture = async (sandbox: Sandbox) =>
  (await edit(sandbox, picture, [part(png)])).json.data[0].b64_json as string
const respondText = async (sandbox: Sandbox) =>
  (await respond(sandbox, 'Name a river')).json.output[0].content[0].text as string

async function three(sandbox: Sandbox, ask: (sandbox: Sandbox) => Promise<string>): Promise<string[]> {
  return [await ask(sandbox), await ask(sandbox), await ask(sandbox)]
}

test.for([
  ['generateContent', generateText],
  ['responses', respondText],
  ['images', createPicture],
  ['edits of images', editPicture],
] as const)('%s: every repetition differs, in the same sequence for a seed', async ([, ask]) => {
  const first = await three(await runningSandbox({ seed: 5 }), ask)
  expect(new Set(first).size).toBe(3)
  expect(await three(await runningSandbox({ seed: 5 }), ask)).toEqual(first)
  const others = await three(await runningSandbox({ seed: 6 }), ask)
  expect(others.filter((other) => first.includes(other))).toEqual([])
})

test('a request with a seed of its own has the same answer every time, another with another', async () => {
  const seeded = async (seed: number) =>
    three(await runningSandbox(), (sandbox) => generateText(sandbox, { generationConfig: { seed } }))
  expect(new Set(await seeded(7)).size).toBe(1)
  expect(new Set([...(await seeded(7)), ...(await seeded(8))]).size).toBe(2)
})

test('other requests in between and the order of names do not matter', async () => {
  const usual = await three(await runningSandbox(), respondText)
  const sandbox = await runningSandbox()
  const again = [await respondText(sandbox)]
  await respond(sandbox, 'Something else')
  await generate(sandbox, 'Name a river')
  again.push(await respondText(sandbox))
  const reordered = await call(sandbox, '/v1/responses', '{ "metadata": {"b":"1","a":"2"}, "input": "hi" }')
  const ordered = await call(sandbox, '/v1/responses', '{"input":"hi","metadata":{"a":"2","b":"1"}}')
  expect(ordered.json.output[0].content).not.toEqual(reordered.json.output[0].content)
  again.push(await respondText(sandbox))
  expect(again).toEqual(usual)
})
