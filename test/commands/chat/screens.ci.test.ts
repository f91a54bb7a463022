import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { launcher } from '../../black-box/spawn-program.ts'
import { textStyles } from '../../program/text-styles.ts'
import { localServer, type LocalServer } from '../../support/local-server.ts'
import { runOnScreen, type ScreenOptions } from '../../support/screen.ts'
import { json, sse, type ServerReply } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { canaryKey } from '../../support/canary-key.ts'

const { delta, end, error } = textStyles.respond
const says = (text: string) => sse([delta(text), end])

interface Talk extends ScreenOptions {
  readonly replies?: readonly ServerReply[]
  /** The gateway of an earlier chat. */
  readonly gateway?: LocalServer
  readonly words?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
}

/** A chat on a terminal of its own, driven by keys; what the gateway was sent. */
async function chat({ replies = [], gateway, words = [], files = {}, ...options }: Talk) {
  const server = gateway ?? (await localServer(replies))
  const home = options.cwd ?? temporaryFolder()
  writeFiles(home, files)
  const result = await runOnScreen(
    launcher,
    ['chat', '-m', 'some-model', '--base-url', server.url, ...words],
    {
      ...options,
      cwd: home,
      env: { HOME: home, MODELGATE_API_KEY: canaryKey(), NO_COLOR: '1', ...options.env },
    },
  )
  const bodies = server.requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
  return { ...result, lines: result.lines.map((line) => line.trimEnd()), bodies, home, server }
}

const paste = (text: string) => `\u001b[200~${text}\u001b[201~`

/** Question, paste, a stopped answer, the same once more, a file, the end. */
const wholeWay: Talk = {
  replies: [
    says('The first answer.'),
    sse([delta('The second answer begins')], { ending: 'stall' }),
    says('The third answer.'),
    says('The fourth answer.'),
  ],
  files: { 'notes.txt': 'some notes' },
  type: [
    { when: '/help', keys: 'Hello\r' },
    { when: /first answer\.[^]*> /, keys: paste('one\ntwo') },
    { when: 'two', keys: '\r' },
    { when: 'second answer', keys: '\u0003' },
    { when: /Stopped[^]*> /, keys: '/retry\r' },
    { when: /third answer\.[^]*> /, keys: 'What is @notes.txt?\r' },
    { when: /fourth answer\.[^]*> /, keys: '/exit\r' },
  ],
}

/** What the screen shows of it, below the title. */
const shownTalk = [
  '> Hello',
  'The first answer.',
  '',
  '> one↵two',
  'The second answer begins',
  'modelgate: Stopped.',
  '  The request may have been billed.',
  '',
  '> /retry',
  'The third answer.',
  '',
  '> What is @notes.txt?',
  'The fourth answer.',
  '',
  '> /exit',
]

test('a whole talk at 80 columns', async () => {
  const { lines, exitCode, bodies } = await chat(wholeWay)
  expect(lines).toEqual([
    'Chat with some-model (respond). /help lists the commands, Ctrl-D leaves.',
    ...shownTalk,
  ])
  expect(exitCode).toBe(0)
  expect(bodies.map(({ input, previous_response_id: previous }) => [input, previous])).toEqual([
    ['Hello', undefined],
    ['one\ntwo', 'resp_1'],
    [[{ role: 'user', content: 'one\ntwo' }], 'resp_1'],
    [
      [
        {
          role: 'user',
          content: [
            {
              type: 'input_file',
              filename: 'notes.txt',
              file_data: `data:text/plain;base64,${Buffer.from('some notes').toString('base64')}`,
            },
            { type: 'input_text', text: 'What is notes.txt?' },
          ],
        },
      ],
      'resp_1',
    ],
  ])
})

test('what goes wrong with one message does not end the chat', async () => {
  const { lines, bodies, exitCode } = await chat({
    replies: [
      json(error(400, 'bad_thing', 'That is bad.'), { status: 400 }),
      sse([delta('A beginning')], { ending: 'cut' }),
      says('The answer.'),
    ],
    words: ['--retry', 'never', 'Hello'],
    type: [
      { when: /is bad[^]*> /, keys: '/retry\r' },
      { when: /ended before[^]*> /, keys: '/retry\r' },
      { when: /The answer\.[^]*> /, keys: '@gone.txt\r' },
      { when: /gone\.txt"[^]*> /, keys: '\u0004' },
    ],
  })
  expect(exitCode).toBe(0)
  expect(bodies).toHaveLength(3)
  const shown = lines.join('\n')
  expect(shown).toContain('HTTP 400): That is bad.')
  expect(shown).toContain('A beginning')
  expect(shown).toContain('The answer.')
  expect(shown).toContain('modelgate: "gone.txt" cannot be read: it does not exist.')
})

test('commands', async () => {
  const home = temporaryFolder()
  const { lines, bodies } = await chat({
    cwd: home,
    rows: 60,
    replies: [says('The first answer.'), says('The second answer.')],
    words: ['--system', 'Be brief', 'Hello'],
    type: [
      { when: /first answer\.[^]*> /, keys: '/modle x\r' },
      { when: /mean \/model[^]*> /, keys: '/model other-model\r' },
      { when: /From now on: other[^]*> /, keys: '/system Be long\r' },
      { when: /these instructions[^]*> /, keys: '//etc is a folder\r' },
      { when: /second answer\.[^]*> /, keys: '/save talk.yaml\r' },
      { when: /saved the conversation[^]*> /, keys: '/save answer.md\r' },
      { when: /saved the last[^]*> /, keys: '/save answer.md\r' },
      { when: /already exists[^]*> /, keys: '\u0004' },
    ],
  })
  expect(
    bodies.map(({ model, instructions, input, previous_response_id: id }) => [
      model,
      instructions,
      input,
      id,
    ]),
  ).toEqual([
    ['some-model', 'Be brief', 'Hello', undefined],
    ['other-model', 'Be long', '/etc is a folder', 'resp_1'],
  ])
  expect(lines.join('\n')).toContain(
    '/modle is no command. Did you mean /model? /help lists them; a text that begins\nwith a slash is sent with //.',
  )
  expect(lines.join('\n')).not.toContain('--force')
  expect(readFileSync(join(home, 'answer.md'), 'utf8')).toBe('The second answer.\n')
  expect(readFileSync(join(home, 'talk.yaml'), 'utf8')).toContain(
    '- role: user\n    content: /etc is a folder\n',
  )
})

test('the list of commands', async () => {
  const { lines } = await chat({
    type: [
      { when: '> ', keys: '/help\r' },
      { when: /keeps what[^]*> /, keys: '\u0004' },
    ],
  })
  expect(lines.join('\n')).toMatchSnapshot()
})

describe('leaving', () => {
  test('Ctrl-C throws away what is typed, then says how to leave, then leaves', async () => {
    const { lines, exitCode } = await chat({
      type: [
        { when: '> ', keys: 'thrown away' },
        { when: 'away', keys: '\u0003' },
        { when: /away[^]*> /, keys: '\u0003' },
        { when: /to leave[^]*> /, keys: '\u0003' },
      ],
    })
    expect(lines.slice(1)).toEqual(['>', 'Press Ctrl-C again, or Ctrl-D, to leave.', '>'])
    expect(exitCode).toBe(0)
  })

  test('the terminal is given back', async () => {
    const { bytes } = await chat({ type: [{ when: '> ', keys: '\u0004' }] })
    expect(bytes.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(bytes.lastIndexOf('\u001b[?2004h'))
  })

  test('-c goes on with it in another chat', async () => {
    const first = await chat({
      replies: [says('Hello Ada.'), says('You are Ada.')],
      words: ['My name is Ada'],
      type: [{ when: /Hello Ada\.[^]*> /, keys: '\u0004' }],
    })
    const { lines, bodies } = await chat({
      cwd: first.home,
      gateway: first.server,
      words: ['-c'],
      type: [
        { when: '> ', keys: 'Who am I?\r' },
        { when: /You are Ada\.[^]*> /, keys: '\u0004' },
      ],
    })
    expect(lines.slice(0, 2)).toEqual([
      'Chat with some-model (respond). /help lists the commands, Ctrl-D leaves.',
      'continuing "My name is Ada", 1 turn, model some-model',
    ])
    expect(bodies.map(({ input, previous_response_id: previous }) => [input, previous])).toEqual([
      ['My name is Ada', undefined],
      ['Who am I?', 'resp_1'],
    ])
  })
})
