import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { conversationMachine } from '../../support/conversation-machine.ts'
import { questionTerminal } from '../../support/question-terminal.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

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
