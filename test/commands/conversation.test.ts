import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { conversationMachine } from '../support/conversation-machine.ts'
import { questionTerminal } from '../support/question-terminal.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { fakeClock } from '../support/fake-clock.ts'

const recall = 'And now? sandbox:recall'

describe.each(['generate', 'respond'] as const)('%s', (command) => {
  test('the third turn knows the first', async () => {
    const { run } = await conversationMachine()
    await run([command, 'My name is Ada'])
    const second = await run([command, '-c', 'I live in York'])
    expect(second.err).toBe('modelgate: continuing "My name is Ada", 1 turn, model sandbox-text\n')
    const third = await run([command, '-c', recall])
    expect(third.err).toBe('modelgate: continuing "My name is Ada", 2 turns, model sandbox-text\n')
    expect(third.out).toContain('Before that you said “My name is Ada”, then “I live in York”.')
  })

  test('two terminals in one folder never mix; a third goes on with the newest of the folder', async () => {
    const { run } = await conversationMachine()
    for (const terminalId of ['one', 'two']) await run([command, `I am ${terminalId}`], { terminalId })
    const recalled = async (terminalId?: string) => (await run([command, '-c', recall], { terminalId })).out
    expect(await recalled('one')).toContain('“I am one”.')
    expect(await recalled('two')).toContain('“I am two”.')
    expect(await recalled()).toContain('“I am two”, then “And now?”.')
  })

  test('where nothing was said, a person chooses from what was said elsewhere, in the same style', async () => {
    const { run, folder } = await conversationMachine()
    await run([command, 'I am of the old folder'])
    await run([command, 'I am the newest'])
    await run([command === 'generate' ? 'respond' : 'generate', 'I am of the other style'])
    const { overrides, until, press, shown } = questionTerminal()
    const elsewhere = { cwd: temporaryFolder(), terminalId: 'new' }
    const call = run([command, '-c', recall], { ...elsewhere, ...overrides })
    await until('Nothing was said in this terminal or folder.')
    await until('"I am of the old folder", 1 turn')
    expect(shown()).not.toContain('I am of the other style')
    // The folder of what is marked.
    expect(shown()).toContain(folder)
    press('\u001b[B\r')
    expect((await call).out).toContain('“I am of the old folder”')
    const alone = await run([command, '-c', recall], { cwd: temporaryFolder(), terminalId: 'another' })
    expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('Nothing to continue')])
  })

  test('instructions, tools and the model are carried along, and flags change them', async () => {
    const { run, bodyOf } = await conversationMachine()
    const tool = command === 'generate' ? 'google_search' : 'web_search'
    const options = `-m other-model --tool ${tool} --temperature 0.5`.split(' ')
    await run([command, ...options, '-s', 'Be brief', 'Hi'])
    const { body, err } = await bodyOf([command, '-c', 'And?'])
    expect(err).toContain('model other-model')
    expect(JSON.stringify(body)).toMatch(/Be brief/)
    expect(JSON.stringify(body)).not.toContain('0.5')
    expect(body['tools']).toHaveLength(1)
    const changed = await bodyOf([command, '-c', '-s', 'Be long', '-m', 'sandbox-text', 'And?'])
    expect(JSON.stringify(changed.body)).toMatch(/^(?!.*Be brief).*Be long/)
  })

  test('a call without an answer is passed over', async () => {
    const { run } = await conversationMachine()
    await run([command, 'First'])
    expect(await run([command, '-c', 'sandbox:failure sandbox:empty'])).not.toMatchObject({ code: 0 })
    const next = await run([command, '-c', recall])
    expect(next.out).toContain('Before that you said “First”.')
  })

  test('attached files are sent again from where they are, unless they have changed', async () => {
    const { run, folder } = await conversationMachine()
    writeFiles(folder, { 'a.txt': 'x'.repeat(400) })
    const unstored = command === 'respond' ? ['--no-store'] : []
    await run([command, ...unstored, '-a', 'a.txt', 'First'])
    const next = await run([command, '-c', recall])
    expect(next).toMatchObject({ code: 0, out: expect.stringContaining('“First”') as string })
    writeFiles(folder, { 'a.txt': 'y'.repeat(400) })
    const err = expect.stringMatching(/a\.txt.*has changed since/) as string
    expect(await run([command, '-c', 'And?'])).toMatchObject({ code: 10, err })
    rmSync(join(folder, 'a.txt'))
    execFileSync('mkfifo', [join(folder, 'a.txt')])
    const pipe = expect.stringMatching(/The conversation contains .*a\.txt/) as string
    expect(await run([command, '-c', 'And?'])).toMatchObject({ code: 10, err: pipe })
  })
})

test.each(['generate', 'respond'])('%s -c ID continues any call of the log', async (command) => {
  const { run } = await conversationMachine()
  await run([command, 'First'])
  await run([command, 'Second'])
  const { calls } = JSON.parse((await run(['log', '--json'])).out) as { calls: { id: string }[] }
  const next = await run([command, '-c', calls[1]!.id.slice(0, 8), recall])
  expect(next.out).toContain('Before that you said “First”.')
  expect(next.err).toContain('continuing "First"')
  const err = expect.stringContaining('There is no call ffffffff in the log.') as string
  expect(await run([command, '-c', 'ffffffff', recall])).toMatchObject({ code: 2, err })
  // A word that is no id is a prompt.
  expect((await run([command, '-c', 'cafe', 'au', 'lait'])).out).toContain('“cafe au lait”')
})

test.each<[Record<string, string>, string]>([
  [{}, 'there is no exchange of this terminal or this folder'],
  [{ MODELGATE_HISTORY: 'off' }, 'the texts of calls are not recorded (history: off, environment'],
  [{ MODELGATE_HISTORY: 'metadata' }, 'the texts of calls are not recorded (history: metadata'],
])('where there is nothing to go on with, the call ends with a way: %j', async (env, reason) => {
  const { run } = await conversationMachine(env)
  if (env['MODELGATE_HISTORY'] !== undefined) await run(['generate', 'First'])
  const { code, err } = await run(['generate', '-c', 'Next'])
  expect([code, err]).toEqual([2, expect.stringContaining(`Nothing to continue: ${reason}`)])
  expect(err).toContain('--conversation-file talk.yaml')
})

test.each([
  ['generate -c --history [] x', '--continue and --history cannot be used together'],
  ['respond -c --previous-response-id r x', '--continue and --previous-response-id cannot'],
  ['respond -c --input x', '--continue and --input cannot'],
  ['respond --conversation-file a --conversation c x', '--conversation-file and --conversation'],
  ['respond -c Next', 'The conversation is one of generate; respond cannot continue it.'],
  ['generate -c --sandbox Next', 'does not know it.'],
])('%s is refused after an exchange of generate with a gateway', async (words, problem) => {
  const { run } = await conversationMachine()
  await run(['generate', 'First'])
  const err = expect.stringContaining(problem) as string
  expect(await run(words.split(' '))).toMatchObject({ code: 2, out: '', err })
})

test('respond without a store sends all items, with the reasoning encrypted, and stays without', async () => {
  const { run, bodyOf } = await conversationMachine()
  await run(['respond', '--no-store', '--reasoning-effort', 'low', 'First'])
  await run(['respond', '-c', 'Second'])
  const { body } = await bodyOf(['respond', '-c', 'Third'])
  expect(body).not.toHaveProperty('previous_response_id')
  expect(body).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low' },
    input: [
      { role: 'user' },
      // Of the first answer there was none to keep, so that its id would be refused.
      { role: 'assistant' },
      { role: 'user' },
      { type: 'reasoning', encrypted_content: expect.stringMatching(/./) as string },
      { role: 'assistant' },
      { role: 'user' },
    ],
  })
  expect((body['input'] as object[])[1]).not.toHaveProperty('id')
})

test('a response that the gateway no longer has is told, and all is sent instead', async () => {
  const { run, folder } = await conversationMachine()
  await run(['respond', 'First'])
  const words = join(folder, 'state/calls/words')
  const [name] = readdirSync(words)
  const said = readFileSync(join(words, name!), 'utf8')
  writeFiles(words, { [name!]: said.replaceAll(/resp_\w+/g, 'resp_gone') })
  const { code, out, err } = await run(['respond', '-c', recall])
  expect([code, out]).toEqual([0, expect.stringContaining('“First”')])
  expect(err).toContain('no longer has the earlier answer, so the whole conversation was sent instead.')
})

test('the calls of an answer wait for their outputs, whose kind is known', async () => {
  const { run, bodyOf } = await conversationMachine()
  const tools = ['--tool', '{"name":"get_weather"}', '--tool', '{"type":"custom","name":"note"}']
  const { err } = await run(['respond', ...tools, 'Use get_weather and note'])
  const [call, note] = [...err.matchAll(/(call_\w+)=TEXT/g)].map(([, id]) => id!)
  expect(await run(['respond', '-c', 'And?'])).toMatchObject({ code: 4, out: '' })
  const outputs = ['--tool-output', `${call}=21 degrees`, '--tool-output', `${note}=done`]
  const { body } = await bodyOf(['respond', '-c', ...outputs])
  expect(body['input']).toMatchObject([{ type: 'function_call_output' }, { type: 'custom_tool_call_output' }])
  expect((await run(['respond', '-c', ...outputs])).out).toContain('21 degrees')
})

test('signatures of generate go back with their parts', async () => {
  const { run, bodyOf } = await conversationMachine()
  const declared = '{"functionDeclarations":[{"name":"get_weather"}]}'
  const thinking = ['--generation-config', '{"thinkingConfig":{"includeThoughts":true}}']
  await run(['generate', '--tool', declared, ...thinking, 'Use get_weather'])
  const { body } = await bodyOf(['generate', '-c', '--tool-output', 'get_weather={"degrees":21}'])
  const thoughtSignature = expect.any(String) as string
  expect(body['contents']).toMatchObject([
    { role: 'user' },
    { role: 'model', parts: [{ functionCall: { name: 'get_weather' }, thoughtSignature }] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { degrees: 21 } } }] },
  ])
  expect(body['generationConfig']).toEqual({ thinkingConfig: { includeThoughts: true } })
})

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
