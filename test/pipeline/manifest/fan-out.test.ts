import { expect, test } from 'vitest'
import { mistakesIn, read } from './manifest-files.ts'

const before = `version: 1
vars: { style: Flat }
jobs:
  scenes: { respond: { model: text-a, input: x }, out: scenes.json }
  rows: { each: [a, b], respond: { model: text-a, input: x }, out: "\${id}.txt" }
  hero: { image create: { model: gpt-image-2, prompt: x }, out: hero.png }
`

const notOne = 'is not one text: each takes @job, the JSON array that a text job without `each` writes.'

test.each<[fields: string, ...mistakes: string[]]>([
  [
    'each: "@scene", MAKE, out: "${id}.png"',
    '7:19: There is no job scene for "@scene"; did you mean @scenes?',
  ],
  ['each: "@hero", MAKE, out: "${id}.png"', '7:19: "@hero" is an image; expected a text.'],
  ['each: "@rows", MAKE, out: "${id}.png"', `7:19: "@rows" ${notOne}`],
  ['each: "@scenes#2", MAKE, out: "${id}.png"', `7:19: "@scenes#2" ${notOne}`],
  [
    'each: "@scenes", MAKE, out: frame.png',
    '7:84: out needs a column such as ${id}: each element has a file of its own.',
  ],
  ['each: [a], max_instances: 2, MAKE, out: "${id}.png"', '7:24: max_instances is for `each: "@job"`.'],
  [
    'each: "@frames", respond: { model: text-a, input: x }, out: "${id}.txt"',
    '7:3: The job depends on itself: @frames needs @frames.',
    `7:19: "@frames" ${notOne}`,
  ],
  [
    // What does not depend on the elements is checked before they are known.
    'each: "@scenes", image create: { prompt: "${title} ${var:stile}", n: 20 }, out: "${id}.png"',
    '7:54: `${var:stile}` is not among the texts of `vars:`: did you mean `${var:style}`?',
    '7:82: n must be from 1 to 10, not 20.',
  ],
])('{ %s }', async (fields, ...mistakes) => {
  const make = 'image create: { model: gpt-image-2, prompt: x }'
  expect(await mistakesIn(`${before}  frames: { ${fields.replace('MAKE', make)} }\n`)).toEqual(
    mistakes.map((one) => `modelgate.yaml:${one}`),
  )
})

test('what a reference needs and the text does not have is a mistake of the text', async () => {
  const manifest = await read(`${before}  frames:
    each: "@scenes"
    image create: { model: gpt-image-2, prompt: "\${title} \${var:style}", size: "\${size}" }
    out: "\${id}.png"
  late: { respond: { model: text-a, input: x, attach: "@frames[dusk]" }, out: late.txt }
`)
  const text = '{"scenes": [{"id": "dawn", "title": "a", "size": "auto"}], "n": 1}'
  await expect(manifest.expand(new Map([['scenes', text]]))).rejects.toThrow(
    '"@frames[dusk]": the job frames has no row dusk',
  )
})
