// What one writes with the official client to create images, and to save them.
import { writeFileSync } from 'node:fs'
import OpenAI from 'openai'

const [url, folder, prompt] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'bench', maxRetries: 0 })
const { data } = await client.images.generate({ model: 'gpt-image-2', prompt, n: 4 })
for (const [index, { b64_json }] of data.entries()) {
  writeFileSync(`${folder}/theirs-${index + 1}.png`, Buffer.from(b64_json, 'base64'))
}
