// The loop that one writes with the official client of the response-object style.
import OpenAI from 'openai'

const [url, model, input] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'bench' })
const events = await client.responses.create({ model, input, stream: true })
for await (const event of events) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
}
process.stdout.write('\n')
