import { expect, test } from 'vitest'
import { familyCalled } from '../../src/contract/families.ts'
import { create } from '../support/image-calls.ts'
import { runningSandbox } from '../support/running-sandbox.ts'

test('a model has the family that the configuration gives it', async () => {
  const families = { fast: familyCalled('image-model-b'), 'dall-e-3': null }
  const sandbox = await runningSandbox({ families })
  const refused = await create(sandbox, { model: 'fast', prompt: 'a dot', size: '640x480' })
  expect([refused.status, refused.json.error.message]).toEqual([
    400,
    `Invalid 'size': must be one of 256x256, 512x512, 1024x1024 for fast (image-model-b), not "640x480".`,
  ])
  expect((await create(sandbox, { model: 'dall-e-3', prompt: 'a dot', size: '640x480' })).status).toBe(200)
})

test.each([
  [{ size: 'huge' }, 'size'],
  [{ size: '10000x10000' }, 'size'],
  [{ size: '0x10' }, 'size'],
  [{ output_format: 'avif' }, 'output_format'],
])('of a model of no family, the sandbox says what it cannot make: %j', async (wish, param) => {
  const { status, json } = await create(await runningSandbox(), { model: 'flux', prompt: 'a dot', ...wish })
  expect([status, json.error.param, json.error.message]).toEqual([
    400,
    param,
    expect.stringContaining('in the sandbox'),
  ])
})
