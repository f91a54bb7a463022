import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runBench } from './run-bench.ts'

const names = [
  'whole',
  'flipped',
  'longer',
  'cut',
  'empty',
  'swapped',
  'other',
  'folder',
  'linked',
  'planted',
] as const
const jobs = names.map((name) => `  ${name}: { respond: { model: m, input: ${name} }, out: ${name}.txt }`)

test('results that lie are noticed, whatever it says: a run restores nothing wrong, and pays for nothing again', async () => {
  const bench = await runBench({ 'modelgate.yaml': `version: 1\njobs:\n${jobs.join('\n')}\n` })
  await bench.run()
  const lock = bench.lock()
  const blobOf = (name: (typeof names)[number]) => {
    const { key } = lock[name]!
    return bench.path(`.modelgate/results/${key}/1.txt`)
  }
  const texts = new Map(names.map((name) => [name, bench.read(`${name}.txt`)]))
  expect(new Set(texts.values()).size).toBe(names.length)

  const flipped = readFileSync(blobOf('flipped'))
  flipped[7]! ^= 1
  writeFileSync(blobOf('flipped'), flipped)
  writeFileSync(blobOf('longer'), `${texts.get('longer')!}\n`)
  writeFileSync(blobOf('cut'), texts.get('cut')!.slice(0, -1))
  writeFileSync(blobOf('empty'), '')
  writeFileSync(blobOf('swapped'), texts.get('other')!)
  writeFileSync(blobOf('other'), texts.get('swapped')!)
  rmSync(blobOf('folder'))
  mkdirSync(blobOf('folder'))
  rmSync(blobOf('linked'))
  symlinkSync(blobOf('whole'), blobOf('linked'))
  writeFileSync(blobOf('planted'), 'A text that nobody has made.')
  for (const name of names) rmSync(bench.path(`${name}.txt`))

  const { told, exit } = await bench.run()
  expect([exit, told]).toEqual([
    'outdated',
    names.map((name) => (name === 'whole' ? 'whole: fresh (restored)' : `${name}: lost`)),
  ])
  expect(names.filter((name) => bench.exists(`${name}.txt`))).toEqual(['whole'])
  expect(bench.read('whole.txt')).toBe(texts.get('whole'))
  expect(bench.sandbox.created()).toBe(names.length)
  // From version control, say.
  for (const [name, text] of texts) bench.write(`${name}.txt`, text)
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  // Of one that is lost a new one is made only where that is asked for.
  rmSync(bench.path('cut.txt'))
  expect((await bench.run({ regenerate: ['cut'] })).told[3]).toBe('cut: fresh (generated)')
  expect(bench.sandbox.created()).toBe(names.length + 1)
})
