import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { conversationMachine, type Machine } from '../../support/conversation-machine.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { writeFiles } from '../../support/temporary-folder.ts'

const recall = 'And now? sandbox:recall'
const talk = ['--conversation-file', 'talk.yaml']

function file({ folder }: Machine, name = 'talk.yaml') {
  const path = join(folder, name)
  return {
    path,
    get text() {
      return readFileSync(path, 'utf8')
    },
    edit: (change: (text: string) => string) => writeFileSync(path, change(readFileSync(path, 'utf8'))),
  }
}

describe.each(['generate', 'respond'] as const)('%s --conversation-file', (command) => {
  test('creates the file, and goes on with it', async () => {
    const machine = await conversationMachine({ MODELGATE_HISTORY: 'off' })
    const { run } = machine
    const first = await run([command, ...talk, 'My name is Ada'])
    expect(first).toMatchObject({ code: 0, err: '' })
    expect(statSync(file(machine).path).mode & 0o777).toBe(0o600)
    await run([command, ...talk, 'I live in York'])
    const third = await run([command, ...talk, recall])
    expect(third.err).toBe('modelgate: continuing "My name is Ada", 2 turns, model sandbox-text\n')
    expect(third.out).toContain('Before that you said “My name is Ada”, then “I live in York”.')
    expect(file(machine).text.match(/^ {2}- role: user/gm)).toHaveLength(3)
  })

  test('an edited question is what the model is told', async () => {
    const machine = await conversationMachine()
    const { run } = machine
    await run([command, ...talk, 'My name is Ada'])
    await run([command, ...talk, 'I live in York'])
    file(machine).edit((text) => text.replace(/((?:content|text): )My name is Ada/, '$1My name is Bea'))
    const { out } = await run([command, ...talk, recall])
    expect(out).toContain('“My name is Bea”, then “I live in York”.')
    expect(out).not.toContain('Ada”, then')
  })

  test('attachments are named by path, and read again', async () => {
    const machine = await conversationMachine()
    const { run, bodyOf, folder } = machine
    writeFiles(folder, { 'a.txt': 'some text' })
    await run([command, ...talk, ...(command === 'respond' ? ['--no-store'] : []), '-a', 'a.txt', 'First'])
    const { text } = file(machine)
    expect(text).toContain(`path: ${join(folder, 'a.txt')}`)
    const base64 = Buffer.from('some text').toString('base64')
    expect(text).not.toContain(base64)
    expect(JSON.stringify((await bodyOf([command, ...talk, 'And?'])).body)).toContain(base64)
    writeFiles(folder, { 'a.txt': 'other text' })
    expect(await run([command, ...talk, 'And?'])).toMatchObject({
      code: 10,
      err: expect.stringMatching(/a\.txt.*has changed since/) as string,
    })
  })
})

describe('a conversation file', () => {
  test('keeps instructions, which are sent each time, and --system changes them', async () => {
    const machine = await conversationMachine()
    const { run, bodyOf } = machine
    await run(['respond', ...talk, '--instructions', 'Be brief', 'First'])
    expect(file(machine).text).toContain('system: Be brief\n')
    expect((await bodyOf(['respond', ...talk, 'Next'])).body).toMatchObject({
      instructions: 'Be brief',
      input: 'Next',
      previous_response_id: expect.stringMatching(/^resp_/) as string,
    })
    file(machine).edit((text) => text.replace('Be brief', 'Be long'))
    const { body } = await bodyOf(['respond', ...talk, 'Next'])
    expect(body).toMatchObject({
      instructions: 'Be long',
      previous_response_id: expect.any(String) as string,
    })
  })

  test('encrypted reasoning goes back, also beside an edited answer', async () => {
    const machine = await conversationMachine()
    const { run, bodyOf } = machine
    await run(['respond', ...talk, '--no-store', '--reasoning-effort', 'low', 'First'])
    file(machine).edit((text) => text.replace('[sandbox] You asked', '[sandbox] They asked'))
    const { body } = await bodyOf(['respond', ...talk, 'Next'])
    expect(body).toMatchObject({
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

  test('-c starts one with the last exchange of this terminal', async () => {
    const machine = await conversationMachine()
    await machine.run(['respond', 'My name is Ada'])
    const { out } = await machine.run(['respond', '-c', ...talk, recall])
    expect(out).toContain('“My name is Ada”')
    expect(file(machine).text).toContain('- role: user\n    content: My name is Ada\n')
    const again = await machine.run(['respond', '-c', ...talk, 'x'])
    expect(again).toMatchObject({
      code: 2,
      err: expect.stringContaining('already has a conversation') as string,
    })
  })

  test('pictures of an answer go back from where they were saved', async () => {
    const machine = await conversationMachine()
    const { run, bodyOf, folder } = machine
    const words = ['--no-store', '--tool', 'image_generation', 'sandbox:image_generation']
    await run(['respond', ...talk, ...words])
    const picture = readdirSync(folder).find((name) => name.endsWith('.png'))
    expect(file(machine).text).toContain(`path: ${join(folder, picture!)}`)
    const base64 = readFileSync(join(folder, picture!)).toString('base64')
    expect(file(machine).text).not.toContain(base64.slice(0, 200))
    for (const call of [
      ['respond', ...talk, 'Next'],
      ['respond', '-c', 'Next'],
    ]) {
      const { body } = await bodyOf(call)
      const items = body['input'] as { type?: string; result?: string }[]
      expect(items.find(({ type }) => type === 'image_generation_call')?.result).toBe(base64)
    }
    expect((await run(['respond', '-c', recall])).code).toBe(0)
  })

  test('never has the key in it, whatever is said', async () => {
    const machine = await conversationMachine()
    await machine.run(['respond', ...talk, 'My key is some-key-0123'])
    expect(file(machine).text).toContain('My key is')
    expect(file(machine).text).not.toContain('some-key-0123')
    expect((await machine.run(['respond', ...talk, recall])).code).toBe(0)
  })

  test('keeps a part of an answer, which the gateway has not', async () => {
    const machine = await conversationMachine()
    const { code } = await machine.run(['respond', ...talk, 'sandbox:error sandbox:500-words'])
    expect(code).not.toBe(0)
    expect(file(machine).text).not.toContain('response:')
    const { body } = await machine.bodyOf(['respond', ...talk, 'Go on'])
    expect(body).not.toHaveProperty('previous_response_id')
    expect(body['input']).toHaveLength(3)
  })

  test('what another process has written meanwhile stays, and the answer is kept beside it', async () => {
    const machine = await conversationMachine()
    await machine.run(['respond', ...talk, 'First'])
    // One may have to wait for the other.
    const waiting = { ...fakeClock(), ...systemClock }
    const [one, other] = await Promise.all([
      machine.run(['respond', ...talk, 'Left'], { clock: waiting }),
      machine.run(['respond', ...talk, 'Right'], { clock: waiting }),
    ])
    expect([one.code, other.code].toSorted()).toEqual([0, 10])
    expect(one.out).toContain('“Left”')
    expect(other.out).toContain('“Right”')
    expect(one.err + other.err).toContain(
      'was changed by another process meanwhile; the conversation with this exchange is in "talk-2.yaml"',
    )
    const texts = [file(machine).text, file(machine, 'talk-2.yaml').text]
    expect(texts.map((text) => /content: (?:Left|Right)/.test(text))).toEqual([true, true])
    expect(readdirSync(machine.folder).filter((name) => name.startsWith('.'))).toEqual([])
  })
})
