import { expect, test } from 'vitest'
import { commandEntries } from '../../src/command-entries.ts'
import { runMain } from '../support/run-main.ts'

const quietOnes = commandEntries.filter(({ sends }) => sends === undefined).map(({ name }) => name)
const wordsAfter: Readonly<Record<string, readonly string[]>> = { completion: ['bash'] }

test('the sandbox says of each option of requests that it means nothing there', async () => {
  const { code, out, err } = await runMain(['sandbox', '--json', '--dry-run', '-m', 'm', '--seed', '2'])
  expect([code, out]).toEqual([2, ''])
  const { error } = JSON.parse(err) as { error: { message: string; hint: string; billed: string } }
  expect(error.message.split('\n')).toEqual([
    '--model does not apply to sandbox.',
    '--json does not apply to sandbox.',
    '--dry-run does not apply to sandbox.',
  ])
  expect([error.hint, error.billed]).toEqual(['See modelgate sandbox --help.', 'no'])
})

test.each(quietOnes)('%s refuses options of requests, before and after its name', async (name) => {
  const words = [name, ...(wordsAfter[name] ?? [])]
  for (const argv of [
    [...words, '--retry', 'safe'],
    ['--retry', 'safe', ...words],
  ]) {
    const { code, out, err } = await runMain(argv)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`modelgate: --retry does not apply to ${name}, which sends no request.\n`)
  }
})

test.each(quietOnes.filter((name) => name !== 'sandbox'))(
  '%s takes options that do no harm',
  async (name) => {
    const words = [name, ...(wordsAfter[name] ?? [])]
    const harmless = ['--quiet', '--debug', '--no-input', '--no-stdin']
    expect(await runMain([...words, ...harmless])).toEqual(await runMain(words))
  },
)
