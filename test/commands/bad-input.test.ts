import { expect, test } from 'vitest'
import { pipedInput } from '../support/piped-input.ts'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { refusalOf, textCall, type TextCommand } from '../support/text-call.ts'

function folder(): string {
  const cwd = temporaryFolder()
  writeFiles(cwd, {
    'tools.json': '[{"own":1}]',
    'empty.txt': '',
  })
  return cwd
}

// No case may be sent: `refusalOf` throws if it would be.
test.each<[string, TextCommand, readonly string[], readonly string[]]>([
  ['an empty prompt', 'generate', [''], ['The prompt is empty.']],
  ['a blank prompt', 'respond', [' ', '\t'], ['The prompt is empty.']],
  ['no prompt', 'respond', [], ['No prompt was given.']],
  ['an empty attachment', 'respond', ['-a', 'empty.txt', 'hi'], ['-a: "empty.txt" is empty.']],
  [
    'an unknown field',
    'respond',
    ['--body', '{"temprature":1}', 'hi'],
    ['"temprature" is not a field of this request; did you mean "temperature"?'],
  ],
  ['a body that is no object', 'generate', ['--body', '[]', 'hi'], ['--body must be a JSON object.']],
  [
    'an exclusive pair',
    'respond',
    ['--previous-response-id', 'r', '--conversation', 'c', 'hi'],
    [
      '--previous-response-id and --conversation cannot be used together: previous_response_id cannot be combined with conversation.',
    ],
  ],
  [
    'a field set inside a text',
    'generate',
    ['--body', '{"generationConfig":"x"}', '--temperature', '1', 'hi'],
    [
      '--temperature: "generationConfig" is neither an object nor an array.',
      expect.stringContaining('--generation-config must be an object, not "x".'),
    ],
  ],
  ['no message', 'generate', ['--contents', '[]'], ['--contents must have at least 1 entry, not 0.']],
  ...['-', '@n.txt', '@-'].map((word): [string, TextCommand, string[], string[]] => [
    `${word} among other words`,
    'respond',
    ['Summarise:', word],
    [`"${word}" is read only when it is the whole prompt, not among other words.`],
  ]),
  [
    'several flags for the schema, and another problem',
    'generate',
    ['--schema', '{}', '--response-schema', '{}', '--response-json-schema', '{}', '--top-k', '0', 'hi'],
    [
      '--schema and --response-schema cannot be used together.',
      '--schema and --response-json-schema cannot be used together.',
      '--top-k must be at least 1, not 0. --no-validate skips the checks against the documented limits.',
    ],
  ],
  [
    'a prompt on top of a text',
    'respond',
    ['--input', 'a', 'b'],
    ['--input is a text already; give either it or a prompt, or make --input an array of messages.'],
  ],
  [
    'safety without a threshold',
    'generate',
    ['--safety', 'harassment', 'hi'],
    ['--safety "harassment" must be category=threshold, such as harassment=BLOCK_NONE.'],
  ],
])('%s', async (_, command, argv, lines) => {
  expect(await refusalOf(command, argv, { cwd: folder() })).toMatchObject({ exit: 2, lines })
})

/** Every flag that can name a file: a missing one is the file's fault, not the call's. */
test.each<[TextCommand, readonly string[], string]>([
  ['generate', ['-a', 'nope', 'hi'], '-a'],
  ['generate', ['--body', '@nope'], '--body'],
  ['generate', ['@nope'], 'The prompt'],
  ['generate', ['--history', 'nope', 'hi'], '--history'],
  ['generate', ['--contents', '@nope'], '--contents'],
  ['generate', ['--system', '@nope', 'hi'], '--system'],
  ['respond', ['--instructions', '@nope', 'hi'], '--instructions'],
  ['respond', ['--input', '@nope'], '--input'],
  ['generate', ['--schema', 'nope', 'hi'], '--schema'],
  ['generate', ['--tool', '@nope', 'hi'], '--tool'],
  ['generate', ['--tools', '@nope', 'hi'], '--tools'],
  ['respond', ['--previous-response-id', 'r', '--tool-output', 'c1=@nope'], '--tool-output'],
])('%s %j: a missing file is exit 10', async (command, argv, flag) => {
  expect(await refusalOf(command, argv, { cwd: folder() })).toMatchObject({
    exit: 10,
    code: 'not_found',
    lines: [`${flag}: "nope" cannot be read: it does not exist.`],
  })
})

test.each<[string, readonly string[], string]>([
  ['text that starts with @', ['--system', '@home'], String.raw`write it as '\@home'`],
  ['a list that starts with [', ['--stop-sequences', '[END]'], `--stop-sequences '["[END]"]'`],
  ['a list that starts with @', ['--stop-sequences', '@x'], `--stop-sequences '["@x"]'`],
  ['a file name without @', ['--tools', 'tools.json'], '--tools @tools.json'],
  ['a word without quotes', ['--set', 'a=b'], `--set 'a="b"'`],
  ['a value out of range', ['--temperature', '3'], '--no-validate sends it anyway'],
  [
    'a file among other words',
    ['@n.txt'],
    'pipe it in: <n.txt; to send the words themselves, put quotes around',
  ],
  ['a dash among other words', ['-'], 'Without it, piped text comes before the prompt; '],
])('the hint says what to do about %s', async (_, argv, hint) => {
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

test.each<[string, string[], string]>([
  ['respond', ['--reasoning-effort', 'hihg'], '--reasoning-effort "hihg" is unknown; did you mean high?'],
  ['generate', ['--thinking-level', 'meduim'], '--thinking-level "meduim" is unknown; did you mean MEDIUM?'],
  ['video generate', ['--aspect-ratio', '9x16'], '--aspect-ratio "9x16" is unknown; did you mean 9:16?'],
  ['video generate', ['--resolution', '720'], '--resolution "720" is unknown; did you mean 720p?'],
  ['image create', ['--quality', 'hgih'], '--quality "hgih" is unknown; did you mean high?'],
])('a misspelt value of %s is refused with the nearest: %j', async (command, flags, problem) => {
  const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'some-key' }
  const words = [...command.split(' '), '-m', 'unknown-model', ...flags, 'x', '--dry-run']
  const refused = await runMain(words, { env })
  expect([refused.code, refused.out]).toEqual([2, ''])
  expect(refused.err).toContain(problem)
  expect((await runMain([...words, '--no-validate'], { env })).code).toBe(0)
})

test.each<[string, string[]]>([
  ['another letter case', ['respond', '--reasoning-effort', 'HIGH']],
  ['a word that is not like any', ['respond', '--reasoning-effort', 'ultra']],
  ['another number', ['video generate', '--resolution', '480p']],
  ['another size', ['image create', '--size', '1024x1025']],
  ['what --set says', ['respond', '--set', 'reasoning.effort="hihg"']],
])('%s is sent', async (_, [command = '', ...flags]) => {
  const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'some-key' }
  const words = [...command.split(' '), '-m', 'unknown-model', ...flags, 'x', '--dry-run']
  expect(await runMain(words, { env })).toMatchObject({ code: 0, err: '' })
})

test.each([
  [['image', 'create', '--jsonl', '--sizze', '1x1', 'x'], 'image create', 'usage'],
  [['--profile', 'none', 'respond', 'x', '--jsonl'], 'respond', 'config_invalid'],
  [['nonsense', '--jsonl'], 'modelgate', 'usage'],
])('--jsonl begins with start where a call is refused: %j', async (words, command, code) => {
  const { out } = await runMain(words)
  const [first, last, ...others] = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(first).toEqual({ type: 'start', version: 1, command, model: null })
  expect([last, others]).toEqual([expect.objectContaining({ type: 'error' }), []])
  expect(last).toMatchObject({ error: { code } })
})

test('of what is set up in part all that is missing is told', async () => {
  const env = { MODELGATE_API_KEY: 'some-key' }
  const { exit, lines, hint } = await refusalOf('generate', [], { env })
  expect(exit).toBe(2)
  expect(lines).toEqual([
    expect.stringMatching(/^No gateway is configured: set MODELGATE_BASE_URL, or pass --base-url\./),
    expect.stringMatching(/^No prompt was given\. /),
    expect.stringMatching(
      /^No model was given: set MODELGATE_TEXT_MODEL \(text_model in the configuration\), or pass -m\./,
    ),
  ])
  expect(hint).toBeUndefined()
})

test('a missing key is told with a missing model, and not for a dry run', async () => {
  const env = { MODELGATE_BASE_URL: 'https://gateway.example' }
  const { lines } = await refusalOf('generate', ['hi'], { env })
  expect(lines).toEqual([expect.stringMatching(/^No model /), expect.stringMatching(/^No API key /)])
  const dry = await refusalOf('generate', ['--dry-run', 'hi'], { env })
  expect(dry.lines).toEqual([expect.stringMatching(/^No model /)])
})

test.each<[TextCommand]>([['generate'], ['respond']])(
  '%s tells everything that is wrong in one message',
  async (command) => {
    const numbers = ['--timeout', 'soon', '--temperature', '9', '--max-output-tokens', '0.5']
    const texts = ['--tools', '{', '--tool', 'x', '--tool', 'y', '--schema', '{"type":1}']
    const others = '--body {"zzz":1} --set a --set b -a nope -a https:// @gone'.split(' ')
    const argv = [...numbers, ...texts, ...others]
    const { exit, lines } = await refusalOf(command, argv, { cwd: folder() })
    expect(exit).toBe(2)
    const starts = [
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
    ]
    expect(lines).toEqual(starts.map((start) => expect.stringContaining(start)))
  },
)

test('a call that fails anyway neither waits for a silent pipe nor asks', async () => {
  const stdin = pipedInput()
  const { lines } = await refusalOf('generate', ['--temperature', '9', '--tools', '{', 'hi'], { stdin })
  expect(lines).toHaveLength(2)
  const terminal = pipedInput('terminal')
  expect(
    await refusalOf('generate', ['--tools', '{'], { stdin: terminal, terminal: true, env: {} }),
  ).toMatchObject({
    lines: ['gateway', '--tools'].map((word) => expect.stringContaining(word)),
  })
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
