import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'

test('models', async () => {
  const client = new OpenAI({ baseURL: `${(await runningSandbox()).url}/v1`, apiKey: 'any' })
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  const some = [
    'sandbox-text',
    'sandbox-video',
    'image-model-a',
    'video-model-remix',
    'gpt-image-2',
    'dall-e-2',
  ]
  expect(ids).toEqual(expect.arrayContaining(some))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' })
  await expect(client.models.retrieve('gpt-image-9')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
})
