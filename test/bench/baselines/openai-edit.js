// What one writes with the official client to edit several pictures.
import { createReadStream } from 'node:fs'
import OpenAI from 'openai'

const [url, prompt, ...paths] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'bench', maxRetries: 0 })
await client.images.edit({ model: 'gpt-image-2', prompt, image: paths.map((path) => createReadStream(path)) })
