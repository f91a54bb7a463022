import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { canaryKey } from '../support/canary-key.ts'

async function run(prompt: string, words: readonly string[] = []) {
  const { url } = await runningSandbox()
  const env = { MODELGATE_BASE_URL: url, MODELGATE_API_KEY: canaryKey() }
  return runMain(['generate', '-m', 'sandbox-text', `${prompt} sandbox:short`, ...words], { env })
}

const tool = (name: string, options: object | readonly object[] = {}) => [
  '--tools',
  JSON.stringify([{ [name]: options }]),
]
const dangerous = (threshold: string) => [
  '--safety-settings',
  JSON.stringify([{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', threshold }]),
]

interface Row {
  readonly prompt: string
  readonly words?: readonly string[]
  readonly code: number
  /** The lines of standard error. */
  readonly told: readonly string[]
  /** The finish reason, or the code of the error. */
  readonly reason: string
  /** What else the document says. */
  readonly document?: object
}

const blocked = (reason: string) => [
  `modelgate: The gateway blocked the answer (${reason}).`,
  '  hint: Change the prompt.',
]

const rows: readonly Row[] = [
  {
    prompt: 'Name a river',
    words: tool('googleSearch'),
    code: 0,
    told: [
      'search: Name a river',
      'citation: example.com <https://www.example.com/sandbox/1>',
      'citation: example.org <https://www.example.org/sandbox/2>',
    ],
    reason: 'stop',
    document: { citations: [{ title: 'example.com' }, { title: 'example.org' }] },
  },
  {
    prompt: 'Read https://example.com/a',
    words: tool('urlContext'),
    code: 0,
    told: ['url: https://example.com/a (SUCCESS)', 'citation: example.com <https://example.com/a>'],
    reason: 'stop',
  },
  {
    prompt: 'Read https://example.com/a sandbox:urlContext:failed',
    words: tool('urlContext'),
    code: 0,
    told: ['url: https://example.com/a (ERROR)'],
    reason: 'stop',
  },
  {
    prompt: 'Where to eat',
    words: tool('googleMaps'),
    code: 0,
    told: [
      'citation: Sandbox Café <https://maps.example.com/?cid=1>',
      'citation: Sandbox Station <https://maps.example.com/?cid=2>',
    ],
    reason: 'stop',
  },
  {
    prompt: 'Look it up',
    words: tool('fileSearch', { fileSearchStoreNames: ['fileSearchStores/mine'] }),
    code: 0,
    told: ['search: Look it up', 'citation: notes.txt'],
    reason: 'stop',
  },
  {
    prompt: 'Add numbers',
    words: tool('codeExecution'),
    code: 0,
    told: ['code (PYTHON): print(sum(range(1, 11)))', 'code result (OUTCOME_OK): 55 '],
    reason: 'stop',
  },
  {
    prompt: 'Look at the screen',
    words: tool('computerUse', { environment: 'ENVIRONMENT_BROWSER' }),
    code: 0,
    told: ['tool call: open_web_browser({})'],
    reason: 'tool_calls',
    document: { tool_calls: [{ name: 'open_web_browser' }] },
  },
  {
    prompt: 'Ask the server',
    words: tool('mcpServers', [{ name: 'weather' }]),
    code: 0,
    told: [
      'tool call: weather_look_up({"query":"Ask the server"})',
      'functionResponse: weather_look_up: {"content":[{"type":"text","text":"[sandbox] The remote server has nothing to add."}]}',
    ],
    reason: 'stop',
    document: { tool_calls: [] },
  },
  {
    prompt: 'Quote sandbox:citations',
    code: 0,
    told: [
      'citation: https://www.example.com/source/1 (licence: mit)',
      'citation: https://www.example.com/source/2 (licence: apache-2.0)',
    ],
    reason: 'stop',
    document: { citations: [{ license: 'mit' }, { license: 'apache-2.0' }] },
  },
  {
    prompt: 'Risk it sandbox:unsafe:high',
    words: dangerous('BLOCK_NONE'),
    code: 0,
    told: ['safety: HARM_CATEGORY_DANGEROUS_CONTENT HIGH'],
    reason: 'stop',
  },
  {
    prompt: 'Risk it sandbox:unsafe:low',
    words: dangerous('BLOCK_LOW_AND_ABOVE'),
    code: 9,
    told: ['safety: HARM_CATEGORY_DANGEROUS_CONTENT LOW', ...blocked('SAFETY')],
    reason: 'finish_content_filter',
  },
  {
    prompt: 'Stop sandbox:block:JAILBREAK',
    code: 9,
    told: [
      'prompt blocked (JAILBREAK): [sandbox] The prompt was blocked.',
      ...blocked('JAILBREAK: [sandbox] The prompt was blocked.'),
    ],
    reason: 'finish_content_filter',
  },
  {
    prompt: 'Stop sandbox:RECITATION',
    code: 9,
    told: blocked('RECITATION: [sandbox] The answer ended with RECITATION.'),
    reason: 'finish_content_filter',
  },
]

test.each(rows)('$prompt, $words', async ({ prompt, words = [], code, told, reason, document = {} }) => {
  const plain = await run(prompt, words)
  expect(plain.code).toBe(code)
  const lines = plain.err.split('\n').filter((line) => line !== '')
  expect(lines.slice(0, told.length)).toEqual(told)
  const json = await run(prompt, [...words, '--json'])
  const events = (await run(prompt, [...words, '--jsonl'])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([json.code, events.at(-1).type]).toEqual([code, code === 0 ? 'end' : 'error'])
  const whole = JSON.parse(json.out === '' ? json.err : json.out)
  expect(whole.error?.code ?? whole.finish_reason).toBe(reason)
  expect(whole).toMatchObject(document)
})

test('arguments in pieces make one call, and log probabilities are in the response', async () => {
  const parameters = { type: 'object', properties: { city: { const: 'Graz' } }, required: ['city'] }
  const declared = [{ functionDeclarations: [{ name: 'look', parameters }] }]
  const config = '{"functionCallingConfig":{"mode":"ANY","streamFunctionCallArguments":true}}'
  const call = await run('Hi', ['--tools', JSON.stringify(declared), '--tool-config', config, '--json'])
  expect(JSON.parse(call.out).tool_calls).toMatchObject([{ name: 'look', arguments: { city: 'Graz' } }])
  const { out } = await run('Hi', ['--response-logprobs', '--logprobs', '1', '--json'])
  const [candidate] = JSON.parse(out).response.candidates
  expect(candidate.avgLogprobs).toBeLessThan(0)
})
