import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  [['genrate', 'hi'], "unknown command 'genrate' (Did you mean generate?)"],
  [['gen', 'hi'], "unknown command 'gen' (Did you mean generate?)"],
  [['version'], "unknown command 'version' (Did you mean --version?)"],
  [['-v'], "unknown option '-v' (Did you mean -V, --version?)"],
  [['ls'], "unknown command 'ls' (Did you mean jobs?)"],
  [['edit', 'x.png'], "unknown command 'edit' (Did you mean image edit?)"],
  [['response'], "unknown command 'response'"],
  [['video', 'version'], "unknown command 'version'"],
  [['__proto__'], "unknown command '__proto__'"],
  [['generate', '--temprature=1', 'hi'], "unknown option '--temprature' (Did you mean --temperature?)"],
])('%j is refused with the nearest: %s', async (argv, message) => {
  const { code, out, err } = await runMain(argv)
  expect([code, out, err.split('\n')[0]]).toEqual([2, '', `modelgate: ${message}`])
})

test.each(['--api-key', '--apikey', '--key', '--token', '--auth-token'])(
  '%s is refused without its value, and says where keys go',
  async (option) => {
    const behind = ['generate', `${option}=canary-key`, 'hi']
    for (const argv of [behind, [option, 'canary-key', 'generate', 'hi']]) {
      const { code, out, err } = await runMain(argv)
      expect([code, out, err]).toEqual([2, '', expect.not.stringContaining('canary-key')])
      expect(err).toMatch(`unknown option '${option}'\n`)
      expect(err).toContain('set MODELGATE_API_KEY, or pass --api-key-file FILE')
    }
  },
)

test.each([
  ['sch models', 'modelgate --help'],
  ['--profile x video wiat list', 'modelgate video --help'],
])('of %s the hint names the help of what was called, not of a later word', async (words, help) => {
  expect((await runMain(words.split(' '))).err).toContain(`hint: See ${help}.`)
})

test.each([
  ['again 2 --quality high', 'Run the line that modelgate log show ID prints after "again".'],
  ['config edit', 'Open the file that modelgate config path names, or use modelgate config set.'],
  ['models --remote', "The gateway's list is the default: modelgate models."],
  ['video list', 'It is modelgate jobs now.'],
  ['response status x', 'What it did is done by modelgate wait, modelgate jobs and modelgate cancel.'],
])('%s of earlier versions is refused, with what to do instead', async (words, hint) => {
  const { code, err } = await runMain(words.split(' '))
  expect([code, err]).toEqual([2, expect.stringContaining(`hint: ${hint}\n`)])
  expect(err).not.toContain('Did you mean')
})

test.each<[call: string, message: string, next?: string]>([
  [
    '--timeout 3 wait --json x',
    '--timeout belongs after the command.',
    'modelgate wait --timeout 3 --json x',
  ],
  [
    '--json --model=m respond x',
    '--model belongs after the command.',
    'modelgate respond --json --model=m x',
  ],
  ['--header Authorization:k respond --json hi', '--header belongs after the command.'],
  ['sandbox --json', "unknown option '--json'"],
  ['--json sandbox', '--json does not apply to sandbox.'],
  ['--json run --queue redis://a adopt hero', '--queue does not apply to run adopt.'],
  ['models --max-creates 3 --json', "unknown option '--max-creates'"],
])('%s is refused', async (call, message, next = undefined) => {
  const { code, out, err } = await runMain(call.split(' '))
  expect([code, out]).toEqual([2, ''])
  expect(JSON.parse(err)).toMatchObject({ error: { message, next: next?.split(' ') ?? null } })
})

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
  const argv = ['-5 + 3', '--instructions', '-1 or less', '--top-p', '0.5']
  const said = { input: '-5 + 3', instructions: '-1 or less', top_p: 0.5 }
  expect(await bodyOf('respond', ...argv)).toMatchObject(said)
  const stops = ['--stop-sequences', '-1', '--stop-sequences', '-2']
  const generationConfig = { stopSequences: ['-1', '-2'] }
  expect(await bodyOf('generate', 'hi', ...stops)).toMatchObject({ generationConfig })
})

test.each(['-x + 3 = ?', '--is it one?'])('%j may be an option: the hint says how', async (text) => {
  const hint = 'hint: Text that begins with a dash follows "--": modelgate respond [options] -- "-text"'
  const refused = await runMain(['respond', text, ...sandbox])
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(hint) as string })
  const { out } = await runMain(['respond', ...sandbox, '--', text])
  expect(JSON.parse(out)).toMatchObject({ body: { input: text } })
})
