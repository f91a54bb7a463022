import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
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

test.each<[string, from: string | RegExp, to: string, Conversation['response']?]>([
  ['a question', 'a river', 'a lake'],
  ['an answer', 'Rhine', 'Rhone'],
  ['the gateway', 'gateway: sandbox', 'gateway: https://a.test'],
  ['the end', / {2}- type: message[^]*(?=response:)/, ''],
  ['a field of the response', 'messages: 3', 'messages: 2'],
  ['the instructions', 'Be brief', 'Be long', two.response],
  ['what follows', 'response:', '  - {role: user, content: And?}\nresponse:', two.response],
])('an edit of %s says what the response stands for', (_, from, to, response) => {
  const edited = readConversation('talk.yaml', twoText.replace(from, to), 'respond')
  expect(edited.response).toEqual(response)
})

const anyString = fc.string({
  unit: fc.constantFrom(
    ...'a \n\t\r"\':#-{\0\u0085\u2028\ufeff\ud800é|>%\u001b?~'.split(''),
    ...'😀 null yes 0x1 1e3 << &a *a ---'.split(' '),
  ),
})

test('whatever is said is read as it was written, in both formats', () => {
  const said = fc.record({ role: fc.constantFrom('user', 'assistant'), content: anyString })
  const called = fc.record({
    type: fc.constant('function_call'),
    arguments: fc.dictionary(anyString, anyString),
  })
  const messages = fc.tuple(fc.array(said), fc.array(called), fc.record({ value: fc.jsonValue() }))
  fc.assert(
    fc.property(
      messages,
      anyString,
      fc.constantFrom('t', 't.json'),
      ([texts, calls, value], system, name) => {
        const whole: Conversation = {
          style: 'respond',
          gateway: undefined,
          model: 'm',
          system: system || undefined,
          settings: {},
          // JSON has no negative zero, and no object without a prototype.
          messages: JSON.parse(JSON.stringify([...texts, ...calls, value])) as Conversation['messages'],
          response: { id: 'r', count: texts.length + calls.length + 1 },
        }
        expect(readConversation('t', formatConversation(whole, name), 'generate')).toEqual(whole)
      },
    ),
    runs(300),
  )
})

test.each<[text: string, problem: string]>([
  ['messages: [', '1:12: not valid YAML'],
  ['- role: user', '1:1: a conversation is an object with a list of "messages"'],
  ['messages: 5', '1:11: "messages" has to be a list'],
  ['version: 3\nmessages: []', '1:10: only version 2 is known here'],
  ['model: m\nmesages: []', '2:10: "mesages" is not known here (did you mean "messages"?)'],
  ['settings: []\nmessages: []', '1:11: "settings" is an object'],
  [`a: &a [x]\nb: [${'*a,'.repeat(200)}]`, ' it has too many aliases'],
  ['messages: [*b]', ' it has too many aliases, or one that leads nowhere'],
  [
    'messages:\n  - hello',
    '2:5: a message is an object: {role: user, content: TEXT}, of the model {role: assi',
  ],
  [
    'style: generate\nmessages: [{role: user, content: hello}]',
    '2:12: a message is an object: {role: user, parts: [{text: TEXT}]}, of the model {role: model, parts',
  ],
  ['version: 1\nturns:\n  - user: hello', '3:3: "turns" is not known here'],
])('a file that is no conversation is refused with the place: %.40j', (text, problem) => {
  expect(() => readConversation('talk.yaml', text, 'respond')).toThrow(`talk.yaml:${problem}`)
})

test.each([
  ['{a: ', '}'],
  ['[', ']'],
  ['? ', ''],
])('one that is nested in thousands of %s is refused', (open, close) => {
  const text = `messages: []\nsettings:\n  ${open.repeat(5000)}${close.repeat(5000)}`
  expect(() => readConversation('talk.yaml', text, 'respond')).toThrow(/nested more than 128 levels deep\.$/)
})

test('nothing else than a refusal comes of any text', () => {
  const word = fc.constantFrom(
    ...':-\n {}[]"|0'.split(''),
    ...'messages role content response settings version &a *a !!map << __proto__'.split(' '),
  )
  const value = fc.record({
    messages: fc.option(fc.array(fc.jsonValue())),
    settings: fc.option(fc.jsonValue()),
    system: fc.option(fc.jsonValue()),
    response: fc.option(fc.jsonValue()),
  })
  const words = fc.array(word, { maxLength: 60 }).map((all) => all.join(''))
  fc.assert(
    fc.property(
      fc.oneof(
        words,
        value.map((given) => JSON.stringify(given)),
      ),
      (text) => {
        try {
          const read = readConversation('t', text, 'respond')
          expect(readConversation('t', formatConversation(read, 't'), 'respond')).toEqual(read)
        } catch (error) {
          if (!(error instanceof UsageError)) throw error
        }
      },
    ),
    runs(500),
  )
})

const conversation = (text: string): Conversation => ({
  style: 'respond',
  settings: {},
  messages: [{ role: 'user', content: text }],
})

test('what cannot be written where it belongs is kept elsewhere, and told', async () => {
  const folder = temporaryFolder()
  const same = { text: (text: string) => text, document: (json: string) => json }
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
