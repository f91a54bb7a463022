import { expect, test } from 'vitest'
import { mistakesIn, oneJob } from './manifest-files.ts'

test('too many instances are refused', async () => {
  const rows = Array.from({ length: 100_001 }, (_, at) => `row-${at}`).join('\n')
  const manifest = oneJob('each: data.csv', 'respond: { input: "${id}" }', 'out: "${id}.txt"')
  expect(await mistakesIn(manifest, { 'data.csv': `id\n${rows}\n` })).toEqual([
    'data.csv:100002:1: There are more than 100000 rows.',
  ])
  const both = `${manifest}  next: { respond: { input: x }, out: x.txt }\n`
  const full = rows.slice(0, rows.lastIndexOf('\n'))
  expect(await mistakesIn(both, { 'data.csv': `id\n${full}\n` })).toEqual([
    'modelgate.yaml:7:3: With this job there are more than 100000 instances.',
  ])
})
