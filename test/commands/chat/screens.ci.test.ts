import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
}
/** A chat on a terminal of its own, driven by keys; what the gateway was sent. */
async function chat({ replies = [], gateway, words = [], cwd = temporaryFolder(), ...options }: Talk) {
  const server = gateway ?? (await localServer(replies))
  const argv = ['chat', '-m', 'some-model', '--base-url', server.url, ...words]
  const env = { HOME: cwd, MODELGATE_API_KEY: canaryKey(), NO_COLOR: '1' }
  const result = await runOnScreen(launcher, argv, { ...options, cwd, env })
  const bodies = server.requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
  return { ...result, lines: result.lines.map((line) => line.trimEnd()), bodies, home: cwd, server }
}

test('a whole talk: a question, a paste, a stopped answer, the same once more, a file, the end', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'notes.txt': 'some notes' })
  const { lines, exitCode, bodies } = await chat({
    cwd,
    replies: [
      says('The first answer.'),
      sse([delta('The second answer begins')], { ending: 'stall' }),
      says('The third answer.'),
      says('The fourth answer.'),
    ],
    type: [
      { when: '/help', keys: 'Hello\r' },
      { when: /first answer\.[^]*> /, keys: '\u001b[200~one\ntwo\u001b[201~' },
      { when: 'two', keys: '\r' },
      { when: 'second answer', keys: '\u0003' },
      { when: /Stopped[^]*> /, keys: '/retry\r' },
      { when: /third answer\.[^]*> /, keys: 'What is @notes.txt?\r' },
      { when: /fourth answer\.[^]*> /, keys: '/exit\r' },
    ],
  })
  expect(lines).toEqual([
    'Chat with some-model (respond). /help lists the commands, Ctrl-D leaves.',
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
  ])
  expect(exitCode).toBe(0)
  const file = { type: 'input_file', file_data: 'data:text/plain;base64,c29tZSBub3Rlcw==' }
  const asked = { type: 'input_text', text: 'What is notes.txt?' }
  expect(bodies).toMatchObject([
    { input: 'Hello' },
    { input: 'one\ntwo', previous_response_id: 'resp_1' },
    { input: [{ role: 'user', content: 'one\ntwo' }], previous_response_id: 'resp_1' },
    { input: [{ content: [file, asked] }], previous_response_id: 'resp_1' },
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
  expect([exitCode, bodies.length]).toEqual([0, 3])
  expect(lines.join('\n')).toMatch(
    /HTTP 400\): That is bad\.[^]*A beginning[^]*The answer\.[^]*modelgate: "gone\.txt" cannot be read/,
  )
})

test('commands', async () => {
  const { lines, bodies, home } = await chat({
    rows: 60,
    replies: [says('The first answer.'), says('The second answer.')],
    words: ['--system', 'Be brief', 'Hello'],
    type: [
      { when: /first answer\.[^]*> /, keys: '/modle x\r' },
      { when: /mean \/model[^]*> /, keys: '/model other\r' },
      { when: /From now on: other[^]*> /, keys: '/system Be long\r' },
      { when: /these instructions[^]*> /, keys: '//etc is a folder\r' },
      { when: /second answer\.[^]*> /, keys: '/save talk.yaml\r' },
      { when: /saved the conversation[^]*> /, keys: '/save answer.md\r' },
      { when: /saved the last[^]*> /, keys: '/save answer.md\r' },
      { when: /already exists[^]*> /, keys: '\u0004' },
    ],
  })
  expect(bodies).toMatchObject([
    { model: 'some-model', instructions: 'Be brief', input: 'Hello' },
    { model: 'other', instructions: 'Be long', input: '/etc is a folder', previous_response_id: 'resp_1' },
  ])
  const shown = lines.join('\n')
  expect(shown).toContain('/modle is no command. Did you mean /model? /help lists them; a text that begins\n')
  expect(shown).not.toContain('--force')
  expect(readFileSync(join(home, 'answer.md'), 'utf8')).toBe('The second answer.\n')
  const talk = readFileSync(join(home, 'talk.yaml'), 'utf8')
  expect(talk).toContain('- role: user\n    content: /etc is a folder\n')
})

test('the list of commands', async () => {
  const { lines } = await chat({
    type: [
      { when: '> ', keys: '/help\r' },
      { when: /keeps what[^]*> /, keys: '\u0004' },
    ],
  })
  const names = lines.flatMap((line) => /^(?:\/\w+|@FILE)/.exec(line) ?? [])
  expect(names).toEqual(['/help', '/model', '/system', '/retry', '/save', '/exit', '@FILE'])
})

test('Ctrl-C throws away what is typed, then says how to leave, then leaves, the terminal given back', async () => {
  const { lines, bytes, exitCode } = await chat({
    type: [
      { when: '> ', keys: 'thrown away' },
      { when: 'away', keys: '\u0003' },
      { when: /away[^]*> /, keys: '\u0003' },
      { when: /to leave[^]*> /, keys: '\u0003' },
    ],
  })
  expect(lines.slice(1)).toEqual(['>', 'Press Ctrl-C again, or Ctrl-D, to leave.', '>'])
  expect(exitCode).toBe(0)
  expect(bytes.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(bytes.lastIndexOf('\u001b[?2004h'))
})

test('-c goes on in another chat', async () => {
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
  expect(lines[1]).toBe('continuing "My name is Ada", 1 turn, model some-model')
  expect(bodies[1]).toMatchObject({ input: 'Who am I?', previous_response_id: 'resp_1' })
})
