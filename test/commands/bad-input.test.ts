import { expect, test } from 'vitest'
import { pipedInput } from '../support/piped-input.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { configured, refusalOf, textCall, type TextCommand } from '../support/text-call.ts'
import { questionTerminal } from '../support/question-terminal.ts'

function folder(): string {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'tools.json': '[{"own":1}]', 'empty.txt': '' })
  return cwd
}

// No case may be sent: `refusalOf` throws if it would be.
test.each<[call: string, ...problems: readonly string[]]>([
  ['generate ', 'The prompt is empty.'],
  ['respond \t', 'The prompt is empty.'],
  ['respond', 'No prompt was given.'],
  ['respond -a empty.txt hi', '-a: "empty.txt" is empty.'],
  ...['ftp://host/a.png', 's3://bucket/key', 'data:image/png;base64,AAAA', 'HTTPX://a'].map(
    (url): [string, string] => [`respond -a ${url} hi`, 'is not a kind of URL that can be attached'],
  ),
  ['generate --body [] hi', '--body must be a JSON object.'],
  ['respond --body {"inptu":1} hi', '"inptu" is not a field of this request; did you mean "input"?'],
  [
    'respond --previous-response-id r --conversation c hi',
    '--previous-response-id and --conversation cannot be used together: previous_response_id cannot be',
  ],
  [
    'generate --body {"generationConfig":"x"} --temperature 1 hi',
    '--temperature: "generationConfig" is neither an object nor an array.',
    '--generation-config must be an object, not "x".',
  ],
  ...['-', '@n.txt', '@-'].map((word): [string, string] => [
    `respond Summarise: ${word}`,
    `"${word}" is read only when it is the whole prompt, not among other words.`,
  ]),
  [
    'generate --schema {} --response-schema {} --response-json-schema {} hi',
    '--schema and --response-schema cannot be used together.',
    '--schema and --response-json-schema cannot be used together.',
  ],
  ['respond --input a b', '--input is a text already; give either it or a prompt, or make --input an array'],
  [
    'generate --safety harassment hi',
    '--safety "harassment" must be category=threshold, such as harassment=',
  ],
])('%s is refused', async (call, ...problems) => {
  const [command, ...argv] = call.split(' ') as [TextCommand, ...string[]]
  const lines = problems.map((problem) => expect.stringContaining(problem) as string)
  expect(await refusalOf(command, argv, { cwd: folder() })).toMatchObject({ exit: 2, lines })
})

/** Every flag that can name a file: a missing one is the file's fault, not the call's. */
test.each<[call: string, flag: string]>([
  ['generate -a nope hi', '-a'],
  ['generate --body @nope', '--body'],
  ['generate @nope', 'The prompt'],
  ['generate --history nope hi', '--history'],
  ['generate --contents @nope', '--contents'],
  ['generate --system @nope hi', '--system'],
  ['respond --instructions @nope hi', '--instructions'],
  ['respond --input @nope', '--input'],
  ['generate --schema nope hi', '--schema'],
  ['generate --tool @nope hi', '--tool'],
  ['generate --tools @nope hi', '--tools'],
  ['respond --previous-response-id r --tool-output c1=@nope', '--tool-output'],
])('%s: a missing file is exit 10', async (call, flag) => {
  const [command, ...argv] = call.split(' ') as [TextCommand, ...string[]]
  const lines = [`${flag}: "nope" cannot be read: it does not exist.`]
  const refusal = await refusalOf(command, argv, { cwd: folder() })
  expect(refusal).toMatchObject({ exit: 10, code: 'not_found', lines })
})

test('a certificate file that cannot be read ends the command, with the sandbox, too', async () => {
  const { code, err } = await runMain(['generate', '--sandbox', '--ca-file', 'nofile.pem', 'hi'])
  expect([code, err]).toEqual([10, expect.stringContaining('cannot be read')])
})

test.each<[readonly string[], string]>([
  [['--system', '@home'], String.raw`write it as '\@home'`],
  [['--stop-sequences', '[END]'], `--stop-sequences '["[END]"]'`],
  [['--stop-sequences', '@x'], `--stop-sequences '["@x"]'`],
  [['--tools', 'tools.json'], '--tools @tools.json'],
  [['-a', 's3://a/b'], 'https:, http: or gs: URLs'],
  [['--set', 'a=b'], `--set 'a="b"'`],
  [['--temperature', '3'], '--no-validate sends it anyway'],
  [['@n.txt'], 'pipe it in: <n.txt; to send the words themselves, put quotes around'],
  [['-'], 'Without it, piped text comes before the prompt; '],
])('%j: the hint says what to do', async (argv, hint) => {
  expect((await refusalOf('generate', [...argv, 'hi'], { cwd: folder() })).hint).toContain(hint)
})

test('words that only look like something to read are sent', async () => {
  const words = ['Mail', 'ann@example.org', '@', '-5', 'or', '--', '- and more']
  const { request } = await textCall('respond', ['--', ...words])
  expect(request.body['input']).toBe('Mail ann@example.org @ -5 or -- - and more')
})

test.each([
  ['generate', ['hi'], ', MODELGATE_API_KEY, MODELGATE_TEXT_MODEL'],
  ['image create', ['A boat'], ', MODELGATE_API_KEY, MODELGATE_IMAGE_MODEL'],
  ['video generate', ['A boat'], ', MODELGATE_API_KEY, MODELGATE_VIDEO_MODEL'],
])('a newcomer to %s gets three lines with the three ways on', async (command, argv, variables) => {
  const { code, out, err } = await runMain([...command.split(' '), ...argv], { cwd: temporaryFolder() })
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toBe(`modelgate: No gateway is set up yet. Set one up with: modelgate init
  hint: To try it without a gateway, key or model, add --sandbox.
  hint: Or set MODELGATE_BASE_URL${variables}.
`)
})

const dry = (command: string, flags: readonly string[]) =>
  runMain([...command.split(' '), '-m', 'unknown-model', ...flags, 'x', '--dry-run'], {
    env: { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'some-key' },
  })

test.each<[string, string[], string]>([
  ['respond', ['--reasoning-effort', 'hihg'], '--reasoning-effort "hihg" is unknown; did you mean high?'],
  ['generate', ['--thinking-level', 'meduim'], '--thinking-level "meduim" is unknown; did you mean MEDIUM?'],
  ['video generate', ['--aspect-ratio', '9x16'], '--aspect-ratio "9x16" is unknown; did you mean 9:16?'],
  ['image create', ['--quality', 'hgih'], '--quality "hgih" is unknown; did you mean high?'],
])('a misspelt value of %s is refused with the nearest: %j', async (command, flags, problem) => {
  expect(await dry(command, flags)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining(problem) as string,
  })
  expect((await dry(command, [...flags, '--no-validate'])).code).toBe(0)
})

test.each<[string, string[]]>([
  ['respond', ['--reasoning-effort', 'HIGH']],
  ['respond', ['--reasoning-effort', 'ultra']],
  ['video generate', ['--resolution', '480p']],
  ['image create', ['--size', '1024x1025']],
  ['respond', ['--set', 'reasoning.effort="hihg"']],
])('a value that is like no other is sent: %s %j', async (command, flags) => {
  expect(await dry(command, flags)).toMatchObject({ code: 0, err: '' })
})

test.each([
  [['image', 'create', '--jsonl', '--sizze', '1x1', 'x'], 'image create', 'usage'],
  [['--profile', 'none', 'respond', 'x', '--jsonl'], 'respond', 'config_invalid'],
  [['nonsense', '--jsonl'], 'modelgate', 'usage'],
])('--jsonl begins with start where a call is refused: %j', async (words, command, code) => {
  const { out } = await runMain(words)
  const [first, ...others] = out.trimEnd().split('\n')
  expect(JSON.parse(first!)).toEqual({ type: 'start', version: 1, command, model: null })
  expect(others.map((line) => JSON.parse(line) as object)).toMatchObject([{ type: 'error', error: { code } }])
})

test('of what is set up in part all that is missing is told', async () => {
  const env = { MODELGATE_API_KEY: 'some-key' }
  const refusal = await refusalOf('generate', [], { env })
  expect(refusal).toMatchObject({
    exit: 2,
    lines: [
      'No gateway is configured: set MODELGATE_BASE_URL, or pass --base-url.',
      'No prompt was given. ',
      'No model was given: set MODELGATE_TEXT_MODEL (text_model in the configuration), or pass -m.',
    ].map((start) => expect.stringContaining(start) as string),
    hint: undefined,
  })
})

test('a missing key is told with a missing model, and not for a dry run', async () => {
  const env = { MODELGATE_BASE_URL: 'https://gateway.example' }
  const { lines } = await refusalOf('generate', ['hi'], { env })
  expect(lines).toEqual([expect.stringMatching(/^No model /), expect.stringMatching(/^No API key /)])
  const dry = await refusalOf('generate', ['--dry-run', 'hi'], { env })
  expect(dry.lines).toEqual([expect.stringMatching(/^No model /)])
})

test.each<TextCommand>(['generate', 'respond'])('%s tells all that is wrong at once', async (command) => {
  const numbers = ['--timeout', 'soon', '--temperature', '9', '--max-output-tokens', '0.5']
  const texts = ['--tools', '{', '--tool', 'x', '--tool', 'y', '--schema', '{"type":1}']
  const others = '--body {"zzz":1} --set a --set b -a nope -a https:// @gone'.split(' ')
  const { exit, lines } = await refusalOf(command, [...numbers, ...texts, ...others], { cwd: folder() })
  expect(exit).toBe(2)
  expect(lines).toEqual(
    [
      '--timeout must be',
      '--tools is not valid',
      '--set: "a" has no',
      '--set: "b" has no',
      '--tool "x" is not one of',
      '--tool "y" is not one of',
      '--schema is not a valid JSON Schema: /type must be',
      '-a: "nope" cannot be read',
      '-a: "https://" is not a valid URL.',
      'The prompt: "gone" cannot be read',
      '--temperature must be',
      '--max-output-tokens must be',
      '"zzz" is not a field of this request',
    ].map((start) => expect.stringContaining(start)),
  )
})

test('a call that fails anyway neither waits for a silent pipe nor asks', async () => {
  const stdin = pipedInput()
  const { lines } = await refusalOf('generate', ['--temperature', '9', '--tools', '{', 'hi'], { stdin })
  expect(lines).toHaveLength(2)
  const terminal = pipedInput('terminal')
  const { lines: asked } = await refusalOf('generate', ['--tools', '{'], {
    stdin: terminal,
    terminal: true,
    env: {},
  })
  expect(asked).toEqual(['gateway', '--tools'].map((word) => expect.stringContaining(word)))
  expect([stdin.reads, terminal.reads]).toEqual([0, 0])
})

test('--no-validate sends what the contract forbids, but not what cannot be sent', async () => {
  const argv = ['--temperature', '9', '--top-k', 'many', '--body', '{"own":1}', 'hi', '--no-validate']
  const { request } = await textCall('generate', argv)
  expect(request.body).toMatchObject({ own: 1, generationConfig: { temperature: 9, topK: 'many' } })
  const exclusive = ['--previous-response-id', 'r', '--conversation', 'c', 'hi', '--no-validate']
  expect((await textCall('respond', exclusive)).request.body).toMatchObject({ conversation: 'c' })
  expect((await refusalOf('generate', ['--no-validate', '--tools', '{', 'hi'])).lines).toHaveLength(1)
})

const withoutModel = { MODELGATE_BASE_URL: configured.MODELGATE_BASE_URL }

test.each<[string, TextCommand, readonly string[], Readonly<Record<string, string>>]>([
  ['prompt', 'generate', [], configured],
  ['prompt', 'respond', [], configured],
  ['model', 'generate', ['hi'], withoutModel],
])('without a key nobody is asked for a %s: %s %j', async (_, command, argv, env) => {
  const { overrides } = questionTerminal()
  const refusal = await refusalOf(command, argv, { ...overrides, env })
  expect(refusal).toMatchObject({ exit: 3, code: 'key_missing', lines: ['No API key is set.'] })
})

test('a key that cannot be used is told instead of asking', async () => {
  const env = { ...configured, MODELGATE_API_KEY: 'two words' }
  expect(await refusalOf('generate', [], { ...questionTerminal().overrides, env })).toMatchObject({ exit: 2 })
})

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ['with a key', [], { MODELGATE_API_KEY: 'key' }],
  ['--dry-run', ['--dry-run'], {}],
  ['--curl', ['--curl'], {}],
  ['--sandbox', ['--sandbox'], {}],
])('somebody is asked: %s', async (_, argv, env) => {
  const { overrides, until, press } = questionTerminal()
  const call = textCall('respond', argv, { ...overrides, env: { ...configured, ...env } })
  await Promise.race([until('Prompt:'), call])
  press('hello\r')
  expect((await call).request.body['input']).toBe('hello')
})

test('where nothing is missing, the key is not looked for yet', async () => {
  const { request } = await textCall('generate', ['hi'], questionTerminal().overrides)
  expect(request.model).toBe('m')
})
