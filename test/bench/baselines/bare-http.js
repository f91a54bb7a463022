// The least that a whole `generate` of one short reply can be: one request, each event parsed, its text printed.
import { request } from 'node:http'

const [url, model, prompt] = process.argv.slice(2)
const sent = request(
  `${url}/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  { method: 'POST', headers: { authorization: 'Bearer bench', 'content-type': 'application/json' } },
  (response) => {
    let rest = ''
    response.setEncoding('utf8')
    response.on('data', (text) => {
      const events = (rest + text).split('\n\n')
      rest = events.pop()
      for (const event of events) {
        process.stdout.write(JSON.parse(event.slice('data: '.length)).candidates[0].content.parts[0].text)
      }
    })
    response.on('end', () => process.stdout.write('\n'))
  },
)
sent.end(JSON.stringify({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }))
