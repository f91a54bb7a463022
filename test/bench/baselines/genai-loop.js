// The loop that one writes with the official client of the content-generation style.
import { GoogleGenAI } from '@google/genai'

const [url, model, contents] = process.argv.slice(2)
const client = new GoogleGenAI({ apiKey: 'bench', httpOptions: { baseUrl: url } })
const chunks = await client.models.generateContentStream({ model, contents })
for await (const chunk of chunks) process.stdout.write(chunk.text ?? '')
process.stdout.write('\n')
