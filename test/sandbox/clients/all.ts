import OpenAI from 'openai'
import { runningSandbox } from '../../support/running-sandbox.ts'

/** A picture of one pixel, as a data URL. */
export const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Everything that a stream yields. */
export async function all<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** The official client of a sandbox of its own, without retries. */
export async function openaiClient(options = {}) {
  const sandbox = await runningSandbox(options)
  const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any', maxRetries: 0 })
  return { sandbox, client }
}

/** Parameters of a function, or a format, with one city. */
export const place = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
