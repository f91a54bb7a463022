import OpenAI from 'openai'
import { runningSandbox } from '../../support/running-sandbox.ts'

/** A picture of one pixel. */
export const dotBase64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** The same as a data URL. */
export const dot = `data:image/png;base64,${dotBase64}`
export const pdf = 'JVBERg=='
export const question = 'what is this?'
/** A remote server. */
export const server = { serverLabel: 'maps', serverUrl: 'https://maps.example/mcp' }
/** The only function that the frameworks have. */
export const weatherIn = (input: unknown) => `sunny in ${(input as { city: string }).city}`

export const common = { apiKey: 'any', maxRetries: 0 }
/** The address of a sandbox of its own. */
export const addressOf = async () => (await runningSandbox()).url

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
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false as const,
}
