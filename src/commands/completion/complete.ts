import type { Candidate, Place } from './live-values.ts'
import type { CommandNode, Flag, Value } from './tree.ts'

/** Words, or the names of files after what is typed already (`@`, `--output=`). */
type Answer = { readonly words: readonly Candidate[] } | { readonly filesAfter: string }

/** What a completion script has passed on. */
interface Request {
  /** Without the program; the last is the beginning of the one at the cursor. */
  readonly words: readonly string[]
  /** How many characters of the last word the shell keeps, whatever is answered. */
  readonly kept?: number
  /** Undefined for a candidate that does not fit. */
  readonly line: (candidate: Candidate) => string | undefined
}

/** How each script asks. zsh and fish choose themselves among what they get, and quote it. */
const shells: Readonly<Record<string, (sent: readonly string[]) => Request>> = {
  bash: ([breaks = '', line = '']) => readBashLine(line, breaks),
  zsh: (words) => ({
    words,
    line: ({ value, about }) =>
      `${value.replaceAll(/[\\:]/g, String.raw`\$&`)}${about === '' ? '' : `:${about}`}`,
  }),
  fish: (words) => ({ words, line: tabbed }),
  powershell(sent) {
    // PowerShell passes no empty words, so its script puts a space after the last.
    const typed = (sent.at(-1) ?? '').slice(0, -1)
    return {
      words: [...sent.slice(0, -1), typed],
      line({ value, about }) {
        if (!value.startsWith(typed)) return undefined
        const quoted = /^[\w./:+=-]+$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`
        return [quoted, value, about || value].join('\t')
      },
    }
  },
}

/**
 * Answers a TAB, for the launcher: a line for each candidate, or one that begins with a tab, and then what stands before the
 * name of a file. No network, nothing is written, and whatever fails yields nothing.
 * @param sent a shell and what its script passes on; from the scripts of 0.1.0 a kind of live values and words of a command
 * @public
 */
export async function complete(
  [shell = '', ...sent]: readonly string[],
  place: Place,
  tree = () => JSON.parse(__COMPLETION_TREE__) as CommandNode,
): Promise<string> {
  try {
    if (!Object.hasOwn(shells, shell)) return print(await liveWords(shell, sent, '', place), tabbed)
    const { words, kept, line } = shells[shell]!(sent)
    const answer = await answerTo(words, tree(), place)
    return 'words' in answer ? print(answer.words, line) : `\t${answer.filesAfter.slice(kept)}\n`
  } catch {
    return ''
  }
}

function print(words: readonly Candidate[], line: Request['line']): string {
  return words
    .flatMap((word) => line(word) ?? [])
    .map((text) => `${text}\n`)
    .join('')
}

const tabbed = ({ value, about }: Candidate) => `${value}\t${about}`

async function answerTo(words: readonly string[], tree: CommandNode, place: Place): Promise<Answer> {
  let command = tree
  let mayBeCommand = true
  let mayBeFlag = true
  let pending: Value | undefined
  const given = new Set<string>()
  for (const word of words.slice(0, -1)) {
    const child = command.children.find((node) => lastWord(node) === word)
    if (pending !== undefined) {
      pending = undefined
    } else if (mayBeFlag && word === '--') {
      mayBeFlag = false
      mayBeCommand = false
    } else if (mayBeFlag && isFlag(word)) {
      const { flag, before } = flagIn(command, word)
      for (const name of flag?.names ?? []) given.add(name)
      if (before === '') pending = flag?.value
    } else if (mayBeCommand && child !== undefined) {
      command = child
    } else {
      mayBeCommand = false
    }
  }
  const typed = words.at(-1) ?? ''
  const values = async (value: Value, before = ''): Promise<Answer> => {
    const start = typed.slice(before.length)
    if (value.files === 'plain') return { filesAfter: before }
    if (value.files === 'at' && start.startsWith('@')) return { filesAfter: `${before}@` }
    const live = value.live && (await liveWords(value.live, command.path.split(' '), start, place))
    const all = [...value.words.map((word) => ({ value: word, about: '' })), ...(live ?? [])]
    return { words: all.map((word) => ({ ...word, value: before + word.value })) }
  }
  if (pending !== undefined) return values(pending)
  if (mayBeFlag && (isFlag(typed) || typed === '-')) {
    const { flag, before } = flagIn(command, typed)
    if (before !== '') return flag?.value === undefined ? { words: [] } : values(flag.value, before)
    const left = command.flags.filter(({ names, repeatable }) => repeatable || !given.has(names[0]!))
    return { words: left.flatMap(({ names, about }) => names.map((value) => ({ value, about }))) }
  }
  const commands = mayBeCommand ? command.children : []
  const own = command.argument === undefined ? { words: [] } : await values(command.argument)
  if (!('words' in own)) return own
  return { words: [...commands.map((node) => ({ value: lastWord(node), about: node.about })), ...own.words] }
}

/** They need far more code than the rest. */
async function liveWords(kind: string, command: readonly string[], start: string, place: Place) {
  return (await import('./live-values.ts')).liveValues(kind, command, start, place)
}

const lastWord = ({ path }: CommandNode) => path.slice(path.lastIndexOf(' ') + 1)

/** As the parser has it: `-5` and `-` are text. */
const isFlag = (word: string) => /^-[A-Za-z-]/.test(word)

/** The flag that a word is, and what of it stands before the value: `--flag=`, `-f` or, of letters together, `-abf`. */
function flagIn({ flags }: CommandNode, word: string): { flag: Flag | undefined; before: string } {
  const named = (name: string) => flags.find(({ names }) => names.includes(name))
  const equals = word.indexOf('=')
  if (word.startsWith('--') && equals !== -1) {
    return { flag: named(word.slice(0, equals)), before: word.slice(0, equals + 1) }
  }
  const letters = word.startsWith('--') ? '' : word.slice(1)
  const letter = [...letters].find((one) => named(`-${one}`)?.value !== undefined)
  if (letter !== undefined) {
    const end = word.indexOf(letter, 1) + 1
    return { flag: named(`-${letter}`), before: end < word.length ? word.slice(0, end) : '' }
  }
  return { flag: named(word), before: '' }
}

/** Blanks, text in quotes, of which the last may be open, and single characters, escaped or not. */
const bashParts = /(\s+)|'([^']*)('?)|"((?:\\.|[^"\\])*)("?)|\\?(.)/gsu

/**
 * bash replaces only what stands after the last of its word breaks (COMP_WORDBREAKS), or after the quotation mark that is
 * open; an `@` it replaces as well.
 */
function readBashLine(line: string, breaks: string): Request {
  const before: string[] = []
  let typed = ''
  let kept = 0
  let isQuoted = false
  for (const [part, blank, single, singleEnd, double, doubleEnd, character] of line.matchAll(bashParts)) {
    if (blank !== undefined) {
      before.push(typed)
      typed = ''
      kept = 0
    } else if (character !== undefined) {
      typed += character
      if (part === character && breaks.includes(part)) kept = typed.length - (part === '@' ? 1 : 0)
    } else {
      isQuoted = !singleEnd && !doubleEnd
      if (isQuoted) kept = typed.length
      typed += single ?? double!.replaceAll(/\\(["$`\\])/g, '$1')
    }
  }
  return {
    words: [...before.slice(1), typed],
    kept,
    line({ value }) {
      if (!value.startsWith(typed)) return undefined
      // What acts inside quotes cannot be completed there.
      if (isQuoted) return /["'$`\\!]/.test(value) ? undefined : value.slice(kept)
      return value.slice(kept).replaceAll(/[^\p{L}\p{N}\w@%+=:,./^~-]|^~/gu, String.raw`\$&`)
    },
  }
}
