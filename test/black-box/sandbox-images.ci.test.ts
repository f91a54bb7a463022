import { expect, test } from 'vitest'
import { until } from '../support/running-sandbox.ts'
import { testImages } from '../support/test-images.ts'
import { spawnProgram } from './spawn-program.ts'

test('the built sandbox draws, encodes and edits pictures of every format', async () => {
  const program = spawnProgram(['sandbox', '--latency', 'none'])
  await until(() => program.stdout.includes('\n'))
  const url = program.stdout.toString().trim()
  const headers = { authorization: 'Bearer any' }
  const sources = await testImages(32)
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const wishes = { prompt: 'a lake', model: 'my-own', size: '256x256', output_format: format }
    const created = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers,
      body: JSON.stringify(wishes),
    })
    const { data } = (await created.json()) as { data: { url: string }[] }
    expect((await fetch(data[0]!.url)).headers.get('content-type')).toBe(`image/${format}`)
    const form = new FormData()
    for (const [name, value] of Object.entries(wishes)) form.append(name, value)
    form.append('image', new File([Buffer.from(sources[format])], 'a', { type: `image/${format}` }))
    const edited = await fetch(`${url}/v1/images/edits`, { method: 'POST', headers, body: form })
    expect([format, edited.status]).toEqual([format, 200])
  }
  program.process.kill('SIGINT')
  expect((await program.ended).exit).toBe('SIGINT')
})
