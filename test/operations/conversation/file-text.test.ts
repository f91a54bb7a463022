import { assert, constantFrom, property, string, array, record, option, boolean, jsonValue } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/errors.ts'
import { newConversationText, readConversationText } from '../../../src/operations/conversation/file-text.ts'
import type { Conversation, Turn } from '../../../src/operations/conversation/turns.ts'
import { runs } from '../../support/sample.ts'

const yaml = { style: 'respond', isJson: false } as const

function conversation(turns: readonly Turn[], more: Partial<Conversation> = {}): Conversation {
  return { style: 'respond', model: 'm', system: undefined, settings: {}, turns, ...more }
}

const said = (text: string): Turn => {
  return { role: 'user', style: 'respond', text, messages: [{ role: 'user', content: text }] }
}

/** An answer with reasoning that has to go back. */
const reasoned = (text: string, id: string): Turn => ({
  role: 'assistant',
  style: 'respond',
  text,
  source: 'sandbox',
  response: id,
  messages: [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2VjcmV0' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ],
})

const two = conversation([said('Name a river'), reasoned('The **Rhine**.\n\nIt is long.', 'resp_1')], {
  system: 'Be brief.\n',
  settings: { store: true },
})

const twoText = `# A conversation of modelgate. Texts may be edited, turns removed, and the file copied to branch it.
# "exact" holds what has to go back to the model as it came; it is left out once its text is another.

version: 1
style: respond
model: m
system: |
  Be brief.
settings: {store: true}
turns:
  - user: |-
      Name a river
  - assistant: |-
      The **Rhine**.

      It is long.
    from: sandbox
    exact: {of: 3368c451eee8c999, items: [{type: reasoning, id: rs_1, summary: [], encrypted_content: c2VjcmV0}, {type: message, id: msg_1, role: assistant, content: [{type: output_text, text: [0, 27], annotations: []}]}]}
    response: resp_1
    seen: DIGEST
`

/** The digest of all before is not written here. */
const masked = (text: string) => text.replace(/seen: \S+/, 'seen: DIGEST')

describe('a conversation in a file', () => {
  test('is text that can be read, with what goes back exactly beside it', () => {
    expect(masked(newConversationText(false).update(two))).toBe(twoText)
  })

  test('keeps comments, and turns as they are written by hand', () => {
    const text = `# mine
turns:
  # the first
  - user: "Hello"   # loud
  - assistant: Hi
`
    const { conversation: read, update } = readConversationText('talk.yaml', text, yaml)
    expect(read.turns.map((turn) => turn.text)).toEqual(['Hello', 'Hi'])
    expect(update({ ...read, model: 'm', turns: [...read.turns, said('And\nthen?')] })).toBe(`# mine

style: respond
model: m
turns:
  # the first
  - user: "Hello" # loud
  - assistant: Hi
  - user: |-
      And
      then?
`)
  })

  test('is JSON where its name says so, with the same in it', () => {
    const text = newConversationText(true).update(two)
    expect(JSON.parse(text)).toMatchObject({ version: 1, turns: [{ user: 'Name a river' }, {}] })
    expect(readConversationText('talk.json', text, { ...yaml, isJson: true }).conversation).toEqual(two)
  })

  test('an edited answer loses its signatures, and all that the gateway has kept behind it', () => {
    const third = said('And another?')
    const whole = conversation([...two.turns, third, reasoned('The Danube.', 'resp_2')])
    const text = newConversationText(false).update(whole).replace('**Rhine**', '**Rhone**')
    const { conversation: read, notes } = readConversationText('talk.yaml', text, yaml)
    expect(notes).toEqual(['Turn 2 was edited, so its encrypted reasoning will not go back.'])
    expect(read.turns[1]).toEqual({
      role: 'assistant',
      style: 'respond',
      source: 'sandbox',
      text: 'The **Rhone**.\n\nIt is long.',
      messages: [{ role: 'assistant', content: 'The **Rhone**.\n\nIt is long.' }],
      response: undefined,
    })
    expect(read.turns[3]).toMatchObject({
      response: undefined,
      messages: [{ encrypted_content: 'c2VjcmV0' }, {}],
    })
  })

  test('an edited question makes the answers behind it unknown to the gateway', () => {
    const text = newConversationText(false).update(two).replace('a river', 'a lake')
    const { conversation: read, notes } = readConversationText('talk.yaml', text, yaml)
    expect(notes).toEqual([])
    expect(read.turns[1]).toMatchObject({
      response: undefined,
      messages: [{ encrypted_content: 'c2VjcmV0' }, {}],
    })
  })

  test('turns can be removed from its end', () => {
    const whole = conversation([...two.turns, said('And another?'), reasoned('The Danube.', 'resp_2')])
    const text = newConversationText(false).update(whole)
    const cut = text.slice(0, text.indexOf('  - user: |-\n      And another?'))
    expect(readConversationText('talk.yaml', cut, yaml).conversation.turns).toEqual(two.turns)
  })

  test('signatures of content generation stand beside their texts', () => {
    const answer: Turn = {
      role: 'assistant',
      style: 'generate',
      text: 'One. Two.',
      source: undefined,
      response: undefined,
      messages: [
        {
          role: 'model',
          parts: [
            { text: 'One. ' },
            { text: 'Two.', thoughtSignature: 'c2ln' },
            { functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' },
          ],
        },
      ],
    }
    const text = newConversationText(false).update(conversation([answer], { style: 'generate' }))
    expect(text.match(/One|Two/g)).toHaveLength(2)
    expect(readConversationText('talk.yaml', text, yaml).conversation.turns).toEqual([answer])
    const edited = readConversationText('talk.yaml', text.replace('Two', 'Three'), yaml)
    expect(edited.notes).toEqual([
      'Turn 1 was edited, so its thought signatures and its calls of tools will not go back.',
    ])
    expect(edited.conversation.turns[0]?.messages).toEqual([
      { role: 'model', parts: [{ text: 'One. Three.' }] },
    ])
  })
})

const anyString = string({
  unit: constantFrom(
    'a',
    ' ',
    '\n',
    '\t',
    '\r',
    '"',
    "'",
    ':',
    '#',
    '-',
    '{',
    '\0',
    '\u0085',
    '\u2028',
    '\ufeff',
    '\ud800',
    '😀',
    'é',
    '|',
    '>',
    '%',
    '\u001b',
  ),
})

describe('whatever is said', () => {
  test('is read as it was written', () => {
    assert(
      property(
        array(anyString, { minLength: 1, maxLength: 4 }),
        anyString,
        boolean(),
        (texts, system, isJson) => {
          const turns = texts.flatMap((text, index) => [said(text), reasoned(`${text}!`, `resp_${index}`)])
          const whole = conversation(turns, { system: system || undefined })
          const text = newConversationText(isJson).update(whole)
          expect(readConversationText('t', text, { ...yaml, isJson }).conversation).toEqual(whole)
        },
      ),
    )
  })

  test('stays as it is when a turn is added to what was read', () => {
    assert(
      property(array(anyString, { minLength: 1, maxLength: 3 }), anyString, (texts, next) => {
        const turns = texts.flatMap((text, index) => [said(text), reasoned(`${text}!`, `resp_${index}`)])
        const first = newConversationText(false).update(conversation(turns))
        const { conversation: read, update } = readConversationText('t', first, yaml)
        const second = update({ ...read, turns: [...read.turns, said(next)] })
        expect(readConversationText('t', second, yaml).conversation.turns).toEqual([...turns, said(next)])
      }),
    )
  })
})

describe('a file that is no conversation is refused with the place', () => {
  test.each<[string, string, string]>([
    ['a broken document', 'turns: [', '1:9: not valid YAML'],
    ['a tab', 'turns:\n\t- user: x', '2:1: not valid YAML: Tabs are not allowed as indentation'],
    ['a list', '- user: x', '1:1: a conversation is an object with a list of "turns"'],
    ['a text', 'hello', '1:1: a conversation is an object'],
    ['no turns', 'model: m', '1:1: "turns" has to be a list'],
    ['turns that are no list', 'turns: 5', '1:8: "turns" has to be a list'],
    ['another version', 'version: 2\nturns: []', '1:10: only version 1 is known here'],
    ['another style', 'style: chat\nturns: []', '1:8: "style" is generate or respond'],
    ['a misspelt field', 'modle: m\nturns: []', '1:1: "modle" is not known here (did you mean "model"?)'],
    [
      'a turn that is a text',
      'turns:\n  - hello',
      '2:5: a turn is an object with a "user" or an "assistant"',
    ],
    ['a turn of nobody', 'turns:\n  - cut: true', '2:5: a turn has either a "user" or an "assistant"'],
    ['a turn of both', 'turns:\n  - user: a\n    assistant: b', '2:5: a turn has either'],
    [
      'a misspelt role',
      'turns:\n  - assistent: a',
      '2:5: "assistent" is not known here (did you mean "assistant"?)',
    ],
    ['a text that is a list', 'turns:\n  - user: [a]', '2:11: "user" has to be a text'],
    [
      'an odd exact',
      'turns:\n  - assistant: a\n    exact: {of: 1}',
      '3:12: "exact" is not as modelgate writes it',
    ],
    [
      'an attachment without a file',
      'turns:\n  - user: a\n    attach: [{type: b}]',
      '3:14: an attachment has either',
    ],
    ['several documents', 'turns: []\n---\nturns: []', '2:1: not valid YAML'],
    ['a name twice', 'turns: []\nturns: []', '2:1: not valid YAML: Map keys must be unique'],
    ['too many aliases', `a: &a [x]\nturns: [${'*a,'.repeat(200)}]`, '1:1: "a" is not known here'],
    ['an alias of nothing', 'turns: [*b]', ' it has too many aliases, or one that leads nowhere'],
    ['a settings list', 'settings: []\nturns: []', '1:11: "settings" is an object'],
  ])('%s', (_, text, problem) => {
    expect(() => readConversationText('talk.yaml', text, yaml)).toThrow(`talk.yaml:${problem}`)
  })

  test('numbers and words of YAML are texts', () => {
    const { conversation: read } = readConversationText(
      't',
      'turns:\n- user: 42\n- assistant: yes\n- user: ~',
      yaml,
    )
    expect(read.turns.map(({ text }) => text)).toEqual(['42', 'yes', ''])
  })

  test('nothing else than a refusal comes of any text', () => {
    const word = constantFrom(
      'turns',
      'user',
      'assistant',
      'exact',
      'attach',
      ':',
      '-',
      '\n',
      ' ',
      '  ',
      '&a',
      '*a',
      '{',
      '}',
      '[',
      ']',
      '"',
      '|',
      '!!map',
      '<<',
      'of',
      'items',
      '0',
      '__proto__',
    )
    assert(
      property(array(word, { maxLength: 60 }), (words) => {
        expectRefusal(words.join(''))
      }),
      runs(300),
    )
    const turn = record(
      {
        user: option(jsonValue()),
        assistant: option(jsonValue()),
        exact: option(jsonValue()),
        attach: option(jsonValue()),
      },
      { requiredKeys: [] },
    )
    assert(
      property(
        record({ turns: array(turn), settings: option(jsonValue()), system: option(jsonValue()) }),
        (value) => {
          expectRefusal(JSON.stringify(value))
        },
      ),
      runs(200),
    )
  })

  function expectRefusal(text: string) {
    try {
      const { conversation: read, update } = readConversationText('t', text, yaml)
      expect(readConversationText('t', update(read), yaml).conversation.turns.length).toBe(read.turns.length)
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
    const text = `turns: []\nsettings:\n  ${open.repeat(5000)}${close.repeat(5000)}`
    expect(() => readConversationText('talk.yaml', text, yaml)).toThrow(/nested more than 128 levels deep\.$/)
  })

  test('with more tokens than memory is there for', () => {
    const text = `turns:\n${'- user: a\n- assistant: b\n'.repeat(100_000)}`
    expect(() => readConversationText('talk.yaml', text, yaml)).toThrow(
      'talk.yaml: more than a conversation can have.',
    )
  })

  test('of one long text is read', () => {
    const long = 'word '.repeat(400_000).trim()
    const { conversation: read } = readConversationText('talk.yaml', `turns:\n- user: ${long}\n`, yaml)
    expect(read.turns[0]?.text).toBe(long)
  })
})
