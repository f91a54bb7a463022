import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sandbox = ['--sandbox', '--dry-run']

/** The body of the request that would be sent. */
async function bodyOf(...argv: string[]): Promise<unknown> {
  const { code, out, err } = await runMain([...argv, ...sandbox], { cwd: temporaryFolder() })
  expect([code, err]).toEqual([0, ''])
  return (JSON.parse(out) as { body: unknown }).body
}

test.each(['-5 + 3 = ?', '- milk', '-5', '-€5', '-1\n--json'])('%j is a prompt', async (text) => {
  expect(await bodyOf('respond', text)).toMatchObject({ input: text })
  expect(await bodyOf('respond', 'What is', text)).toMatchObject({ input: `What is ${text}` })
  expect(await bodyOf('generate', text)).toMatchObject({ contents: [{ parts: [{ text }] }] })
  expect(await bodyOf('image', 'create', text)).toMatchObject({ prompt: text })
  expect(await bodyOf('video', 'generate', text)).toMatchObject({ instances: [{ prompt: text }] })
})

test('such a word is the value of an option, too, and options may follow', async () => {
  const argv = ['-5 + 3', '--instructions', '-1 or less', '--metadata', '{"a":1}', '--top-p', '0.5']
  expect(await bodyOf('respond', ...argv)).toMatchObject({
    input: '-5 + 3',
    instructions: '-1 or less',
    top_p: 0.5,
  })
  expect(await bodyOf('generate', 'hi', '--stop-sequences', '-1', '--stop-sequences', '-2')).toMatchObject({
    generationConfig: { stopSequences: ['-1', '-2'] },
  })
})

test.each(['-x + 3 = ?', '--is it one?'])(
  '%j may be an option: the hint says how it is none',
  async (text) => {
    const hint = 'hint: Text that begins with a dash follows "--": modelgate respond [options] -- "-text"'
    const refused = await runMain(['respond', text, ...sandbox])
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(hint) as string })
    const { out } = await runMain(['respond', ...sandbox, '--', text])
    expect(JSON.parse(out)).toMatchObject({ body: { input: text } })
  },
)
