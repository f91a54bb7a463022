import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { conversationMachine } from '../../support/conversation-machine.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { writeFiles } from '../../support/temporary-folder.ts'

const recall = 'And now? sandbox:recall'
const talk = ['--conversation-file', 'talk.yaml']

/** A machine, and the file on it. */
async function talking(env: Record<string, string> = {}) {
  const machine = await conversationMachine(env)
  const path = join(machine.folder, 'talk.yaml')
  const text = () => readFileSync(path, 'utf8')
  return {
    ...machine,
    path,
    text,
    edit: (change: (text: string) => string) => writeFileSync(path, change(text())),
  }
}

describe.each(['generate', 'respond'] as const)('%s --conversation-file', (command) => {
  test('creates the file, and goes on with it', async () => {
    const { run, path, text } = await talking({ MODELGATE_HISTORY: 'off' })
    expect(await run([command, ...talk, 'My name is Ada'])).toMatchObject({ code: 0, err: '' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await run([command, ...talk, 'I live in York'])
    const third = await run([command, ...talk, recall])
    expect(third.err).toBe('modelgate: continuing "My name is Ada", 2 turns, model sandbox-text\n')
    expect(third.out).toContain('Before that you said “My name is Ada”, then “I live in York”.')
    expect(text().match(/^ {2}- role: user/gm)).toHaveLength(3)
  })

  test('an edited question is what the model is told', async () => {
    const { run, edit } = await talking()
    await run([command, ...talk, 'My name is Ada'])
    await run([command, ...talk, 'I live in York'])
    edit((text) => text.replace(/((?:content|text): )My name is Ada/, '$1My name is Bea'))
    const { out } = await run([command, ...talk, recall])
    expect(out).toContain('Before that you said “My name is Bea”, then “I live in York”.')
  })

  test('attachments are named by path, and read again', async () => {
    const { run, bodyOf, folder, text } = await talking()
    writeFiles(folder, { 'a.txt': 'some text' })
    await run([command, ...talk, ...(command === 'respond' ? ['--no-store'] : []), '-a', 'a.txt', 'First'])
    expect(text()).toContain(`path: ${join(folder, 'a.txt')}`)
    const base64 = Buffer.from('some text').toString('base64')
    expect(text()).not.toContain(base64)
    expect(JSON.stringify((await bodyOf([command, ...talk, 'And?'])).body)).toContain(base64)
    writeFiles(folder, { 'a.txt': 'other text' })
    const err = expect.stringMatching(/a\.txt.*has changed since/) as string
    expect(await run([command, ...talk, 'And?'])).toMatchObject({ code: 10, err })
  })
})

test('a conversation file keeps instructions, which are sent each time, and may be edited', async () => {
  const { run, bodyOf, text, edit } = await talking()
  await run(['respond', ...talk, '--instructions', 'Be brief', 'First'])
  expect(text()).toContain('system: Be brief\n')
  const sent = async () => (await bodyOf(['respond', ...talk, 'Next'])).body
  const previous_response_id = expect.stringMatching(/^resp_/) as string
  expect(await sent()).toMatchObject({ instructions: 'Be brief', input: 'Next', previous_response_id })
  edit((said) => said.replace('Be brief', 'Be long'))
  expect(await sent()).toMatchObject({ instructions: 'Be long', previous_response_id })
})

test('encrypted reasoning goes back, also beside an edited answer', async () => {
  const { run, bodyOf, edit } = await talking()
  await run(['respond', ...talk, '--no-store', '--reasoning-effort', 'low', 'First'])
  edit((text) => text.replace('[sandbox] You asked', '[sandbox] They asked'))
  expect((await bodyOf(['respond', ...talk, 'Next'])).body).toMatchObject({
    store: false,
    input: [
      { role: 'user', content: 'First' },
      { type: 'reasoning', encrypted_content: expect.stringMatching(/./) as string },
      { type: 'message', content: [{ text: expect.stringContaining('They asked') as string }] },
      { role: 'user', content: 'Next' },
    ],
  })
  expect((await run(['respond', ...talk, recall])).code).toBe(0)
})

test('-c starts a file with the last exchange of this terminal', async () => {
  const { run, text } = await talking()
  await run(['respond', 'My name is Ada'])
  expect((await run(['respond', '-c', ...talk, recall])).out).toContain('“My name is Ada”')
  expect(text()).toContain('- role: user\n    content: My name is Ada\n')
  const err = expect.stringContaining('already has a conversation') as string
  expect(await run(['respond', '-c', ...talk, 'x'])).toMatchObject({ code: 2, err })
})

test('pictures of an answer go back from where they were saved', async () => {
  const { run, bodyOf, folder, text } = await talking()
  await run(['respond', ...talk, '--no-store', '--tool', 'image_generation', 'sandbox:image_generation'])
  const picture = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.png'))!,
  )
  expect(text()).toContain(`path: ${picture}`)
  const result = readFileSync(picture).toString('base64')
  expect(text()).not.toContain(result.slice(0, 200))
  for (const words of [talk, ['-c']]) {
    const { body } = await bodyOf(['respond', ...words, 'Next'])
    const sent = expect.objectContaining({ type: 'image_generation_call', result }) as object
    expect(body['input']).toContainEqual(sent)
  }
  expect((await run(['respond', '-c', recall])).code).toBe(0)
})

test('a conversation file never has the key in it, whatever is said', async () => {
  const { run, text } = await talking()
  await run(['respond', ...talk, 'My key is some-key-0123'])
  expect(text()).toMatch(/My key is (?!some-key)/)
  expect(text()).not.toContain('some-key-0123')
  expect((await run(['respond', ...talk, recall])).code).toBe(0)
})

test('a conversation file keeps a part of an answer, which the gateway has not', async () => {
  const { run, bodyOf, text } = await talking()
  expect((await run(['respond', ...talk, 'sandbox:error sandbox:500-words'])).code).not.toBe(0)
  expect(text()).not.toContain('response:')
  const { body } = await bodyOf(['respond', ...talk, 'Go on'])
  expect(body).not.toHaveProperty('previous_response_id')
  expect(body['input']).toHaveLength(3)
})

test('what another process has written meanwhile stays, and the answer is kept beside it', async () => {
  const { run, folder } = await talking()
  await run(['respond', ...talk, 'First'])
  // One may have to wait for the other.
  const clock = { ...fakeClock(), ...systemClock }
  const [one, other] = await Promise.all(
    ['Left', 'Right'].map((word) => run(['respond', ...talk, word], { clock })),
  )
  expect([one!.code, other!.code].toSorted()).toEqual([0, 10])
  expect([one!.out, other!.out]).toEqual([
    expect.stringContaining('“Left”'),
    expect.stringContaining('“Right”'),
  ])
  expect(one!.err + other!.err).toContain(
    'was changed by another process meanwhile; the conversation with this exchange is in "talk-2.yaml"',
  )
  const texts = ['talk.yaml', 'talk-2.yaml'].map((name) => readFileSync(join(folder, name), 'utf8'))
  expect(texts.map((text) => /content: (?:Left|Right)/.test(text))).toEqual([true, true])
  expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])
})
