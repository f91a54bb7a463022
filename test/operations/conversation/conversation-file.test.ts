import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  array,
  assert,
  boolean,
  constantFrom,
  dictionary,
  jsonValue,
  option,
  property,
  record,
  string,
} from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/errors.ts'
import type { Conversation } from '../../../src/operations/conversation/conversation.ts'
import {
  formatConversation,
  openConversationFile,
  readConversation,
} from '../../../src/operations/conversation/conversation-file.ts'
import { runs } from '../../support/sample.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const two: Conversation = {
  style: 'respond',
  gateway: 'sandbox',
  model: 'm',
  system: 'Be brief.\n',
  settings: { store: true },
  messages: [
    { role: 'user', content: 'Name a river: any' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2VjcmV0' },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'The **Rhine**.\n\n\tIt is long.', annotations: [] }],
    },
  ],
  response: { id: 'resp_1', count: 3 },
}

const twoText = `version: 2
style: respond
gateway: sandbox
model: m
system: |
  Be brief.
settings:
  store: true
messages:
  - role: user
    content: "Name a river: any"
  - type: reasoning
    id: rs_1
    summary: []
    encrypted_content: c2VjcmV0
  - type: message
    role: assistant
    content:
      - type: output_text
        text: |-
          The **Rhine**.

          \tIt is long.
        annotations: []
response:
  id: resp_1
  messages: 3
  digest: 4f3bcf683ce939c9
`

test('a conversation is its messages, texts of several lines as they stand', () => {
  expect(formatConversation(two, 'talk.yaml')).toBe(twoText)
  expect(readConversation('talk.yaml', twoText, 'generate')).toEqual(two)
})

test.each<[string, (text: string) => string, Conversation['response']]>([
  ['a question', (text) => text.replace('a river', 'a lake'), undefined],
  ['an answer', (text) => text.replace('Rhine', 'Rhone'), undefined],
  ['the gateway', (text) => text.replace('gateway: sandbox', 'gateway: https://a.test'), undefined],
  ['the end', (text) => text.replace(/ {2}- type: message[^]*(?=response:)/, ''), undefined],
  ['a field of the response', (text) => text.replace('messages: 3', 'messages: 2'), undefined],
  ['the instructions', (text) => text.replace('Be brief', 'Be long'), two.response],
  [
    'what follows',
    (text) => text.replace('response:', '  - {role: user, content: And?}\nresponse:'),
    two.response,
  ],
])('an edit of %s says what the response stands for', (_, edit, response) => {
  expect(readConversation('talk.yaml', edit(twoText), 'respond').response).toEqual(response)
})

const anyString = string({
  unit: constantFrom(
    ...'a \n\t\r"\':#-{\0\u0085\u2028\ufeff\ud800é|>%\u001b?~'.split(''),
    ...'😀 null yes 0x1 1e3 << &a *a ---'.split(' '),
  ),
})

test('whatever is said is read as it was written, in both formats', () => {
  const said = record({ role: constantFrom('user', 'assistant'), content: anyString })
  const called = record({ type: constantFrom('function_call'), arguments: dictionary(anyString, anyString) })
  assert(
    property(
      array(said),
      array(called),
      jsonValue(),
      anyString,
      boolean(),
      (texts, calls, value, system, isJson) => {
        // JSON has no negative zero, and no object without a prototype.
        const messages = JSON.parse(
          JSON.stringify([...texts, ...calls, { value }]),
        ) as Conversation['messages']
        const whole: Conversation = {
          style: 'respond',
          gateway: undefined,
          model: 'm',
          system: system || undefined,
          settings: {},
          messages,
          response: { id: 'r', count: messages.length },
        }
        expect(readConversation('t', formatConversation(whole, isJson ? 't.json' : 't'), 'generate')).toEqual(
          whole,
        )
      },
    ),
    runs(300),
  )
})

describe('a file that is no conversation is refused with the place', () => {
  test.each<[string, string, string]>([
    ['a broken document', 'messages: [', '1:12: not valid YAML'],
    ['a list', '- role: user', '1:1: a conversation is an object with a list of "messages"'],
    ['messages that are no list', 'messages: 5', '1:11: "messages" has to be a list'],
    ['another version', 'version: 3\nmessages: []', '1:10: only version 2 is known here'],
    [
      'a misspelt field',
      'model: m\nmesages: []',
      '2:10: "mesages" is not known here (did you mean "messages"?)',
    ],
    ['settings that are a list', 'settings: []\nmessages: []', '1:11: "settings" is an object'],
    ['too many aliases', `a: &a [x]\nb: [${'*a,'.repeat(200)}]`, ' it has too many aliases'],
    ['an alias of nothing', 'messages: [*b]', ' it has too many aliases, or one that leads nowhere'],
    [
      'a message that is a text',
      'messages:\n  - hello',
      '2:5: a message is an object: {role: user, content: TEXT}, of the model {role: assistant, content: TEXT}.',
    ],
    [
      'a message of the other style',
      'style: generate\nmessages: [{role: user, content: hello}]',
      '2:12: a message is an object: {role: user, parts: [{text: TEXT}]}, of the model {role: model, parts: [{text: TEXT}]}.',
    ],
    ['the form of version 0.1.0', 'version: 1\nturns:\n  - user: hello', '3:3: "turns" is not known here'],
  ])('%s', (_, text, problem) => {
    expect(() => readConversation('talk.yaml', text, 'respond')).toThrow(`talk.yaml:${problem}`)
  })

  test('nothing else than a refusal comes of any text', () => {
    const word = constantFrom(
      ...':-\n {}[]"|0'.split(''),
      ...'messages role content response settings version &a *a !!map << __proto__'.split(' '),
    )
    const value = record({
      messages: option(array(jsonValue())),
      settings: option(jsonValue()),
      system: option(jsonValue()),
      response: option(jsonValue()),
    })
    assert(
      property(array(word, { maxLength: 60 }), (words) => expectRefusal(words.join(''))),
      runs(300),
    )
    assert(
      property(value, (given) => expectRefusal(JSON.stringify(given))),
      runs(200),
    )
  })

  function expectRefusal(text: string) {
    try {
      const read = readConversation('t', text, 'respond')
      expect(readConversation('t', formatConversation(read, 't'), 'respond')).toEqual(read)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
    }
  }
})

describe('a hostile conversation file', () => {
  test.each([
    ['{a: ', '}'],
    ['[', ']'],
    ['? ', ''],
  ])('nested in thousands of %s', (open, close) => {
    const text = `messages: []\nsettings:\n  ${open.repeat(5000)}${close.repeat(5000)}`
    expect(() => readConversation('talk.yaml', text, 'respond')).toThrow(
      /nested more than 128 levels deep\.$/,
    )
  })
})

const conversation = (text: string): Conversation => ({
  style: 'respond',
  settings: {},
  messages: [{ role: 'user', content: text }],
})

const same = { text: (text: string) => text, document: (json: string) => json }

test('what cannot be written where it belongs is kept elsewhere, and told', async () => {
  const folder = temporaryFolder()
  const options = { style: 'respond', isWritten: true, rescueFolder: join(folder, 'rescued') } as const
  const file = await openConversationFile(testContext({ cwd: folder }), 'talk.yaml', options)
  await file.save(conversation('one'), same)
  rmSync(join(folder, 'talk.yaml'))
  mkdirSync(join(folder, 'talk.yaml'))
  const error: unknown = await file.save(conversation('two'), same).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    exitCode: 10,
    code: 'conversation_not_saved',
    message: expect.stringMatching(/^The conversation was not saved: .*It is kept in .*rescued/) as string,
  })
  const { rescued } = (error as { facts: { rescued: readonly string[] } }).facts
  expect(readFileSync(rescued[0]!, 'utf8')).toContain('content: two')
})
