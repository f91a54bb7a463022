import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runBench } from './run-bench.ts'

/** What becomes of the result of each job. @param path of its file @param of the file of another */
const spoil: Readonly<Record<string, (path: string, of: (name: string) => string) => void>> = {
  whole() {},
  flipped(path) {
    const bytes = readFileSync(path)
    bytes[7]! ^= 1
    writeFileSync(path, bytes)
  },
  longer: (path) => writeFileSync(path, '\n', { flag: 'a' }),
  cut: (path) => writeFileSync(path, readFileSync(path).subarray(0, -1)),
  empty: (path) => writeFileSync(path, ''),
  swapped(path, of) {
    const [own, others] = [readFileSync(path), readFileSync(of('other'))]
    writeFileSync(path, others)
    writeFileSync(of('other'), own)
  },
  other() {},
  folder(path) {
    rmSync(path)
    mkdirSync(path)
  },
  linked(path, of) {
    rmSync(path)
    symlinkSync(of('whole'), path)
  },
  planted: (path) => writeFileSync(path, 'A text that nobody has made.'),
}
const names = Object.keys(spoil)
const jobs = names.map((name) => `  ${name}: { respond: { model: m, input: ${name} }, out: ${name}.txt }`)

test('results that lie are noticed, whatever it says: a run restores nothing wrong, and pays for nothing again', async () => {
  const bench = await runBench({ 'modelgate.yaml': `version: 1\njobs:\n${jobs.join('\n')}\n` })
  await bench.run()
  const lock = bench.lock()
  const texts = new Map(names.map((name) => [name, bench.read(`${name}.txt`)]))
  expect(new Set(texts.values()).size).toBe(10)
  const pathOf = (name: string) => bench.path(`.modelgate/results/${lock[name]!.key}/1.txt`)
  for (const [name, change] of Object.entries(spoil)) change(pathOf(name), pathOf)
  for (const name of names) rmSync(bench.path(`${name}.txt`))

  expect(await bench.run()).toMatchObject({
    exit: 'outdated',
    told: names.map((name) => (name === 'whole' ? 'whole: fresh (restored)' : `${name}: lost`)),
    created: 10,
  })
  expect(names.filter((name) => bench.exists(`${name}.txt`))).toEqual(['whole'])
  expect(bench.read('whole.txt')).toBe(texts.get('whole'))
  // From version control, say.
  for (const [name, text] of texts) bench.write(`${name}.txt`, text)
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  // Of one that is lost a new one is made only where that is asked for.
  rmSync(bench.path('cut.txt'))
  const again = await bench.run({ regenerate: ['cut'] })
  expect([again.told[3], again.created]).toEqual(['cut: fresh (generated)', 11])
})
