import { scanLiteral, scanString, skipSpace, type Misplaced } from './json-token.ts'

/** The token that starts at a place, or, without one, what had to stand there. */
interface Wanted {
  readonly token?: 'string' | 'literal'
  readonly expected: string
}

const string: Wanted = { token: 'string', expected: 'a string' }

type State = 'value' | 'first-entry' | 'first-key' | 'key' | 'colon' | 'after-value'

/** Finds the first place where text leaves the grammar of RFC 8259. Open brackets stand on a stack of its own. */
export function scanJson(text: string): Misplaced | undefined {
  const open: ('[' | '{')[] = []
  let state = 'value' as State
  for (let at = skipSpace(text, 0); ; at = skipSpace(text, at)) {
    const character = text[at]
    if (state === 'after-value' && open.length === 0) {
      return character === undefined ? undefined : { offset: at, expected: 'the end' }
    }
    const step: State | Wanted = next(state, character, open)
    if (typeof step === 'string') {
      state = step
      at++
    } else {
      if (step.token === undefined) return { offset: at, expected: step.expected }
      const token = step.token === 'string' ? scanString(text, at) : scanLiteral(text, at, step.expected)
      if ('expected' in token) return token
      at = token.end
      state = state === 'key' || state === 'first-key' ? 'colon' : 'after-value'
    }
  }
}

/** The state after a punctuation mark, or the token that starts here, or what had to stand here. */
function next(state: State, character: string | undefined, open: ('[' | '{')[]): State | Wanted {
  const closes = (bracket: ']' | '}') => {
    if (character !== bracket) return false
    open.pop()
    return true
  }
  switch (state) {
    case 'first-entry':
      if (closes(']')) return 'after-value'
      return startOfValue(character, open, 'a value or "]"')
    case 'value':
      return startOfValue(character, open, 'a value')
    case 'first-key':
      if (closes('}')) return 'after-value'
      return character === '"' ? string : { expected: 'a name in double quotes or "}"' }
    case 'key':
      return character === '"' ? string : { expected: 'a name in double quotes' }
    case 'colon':
      return character === ':' ? 'value' : { expected: '":"' }
    case 'after-value': {
      const isObject = open.at(-1) === '{'
      if (closes(isObject ? '}' : ']')) return 'after-value'
      if (character === ',') return isObject ? 'key' : 'value'
      return { expected: isObject ? '"," or "}"' : '"," or "]"' }
    }
  }
}

function startOfValue(character: string | undefined, open: ('[' | '{')[], otherwise: string): State | Wanted {
  if (character === '[' || character === '{') {
    open.push(character)
    return character === '[' ? 'first-entry' : 'first-key'
  }
  if (character === '"') return string
  return character !== undefined && /[-0-9tfn]/.test(character)
    ? { token: 'literal', expected: 'a value' }
    : { expected: otherwise }
}
