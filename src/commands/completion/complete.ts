import type { HelpCommand, HelpOption } from '../../events/help-document.ts'
import type { Candidate, LiveKind, Place } from './live-values.ts'

/** What only this machine knows: the commands whose arguments name it, and the options. */
const liveNames: Readonly<Record<LiveKind, readonly string[]>> = {
  videos: ['video status', 'video remix'],
  responses: ['cancel', '--previous-response-id'],
  jobs: ['wait'],
  models: ['models', '--model', '--text-model', '--image-model', '--video-model'],
  profiles: ['--profile'],
  calls: ['log show'],
  assets: ['run', 'run adopt', 'run pick', 'run report', 'run restore', '--regenerate'],
}

/** Options that take the name of a file, too, by another placeholder. */
const fileOptions = new Set(['--history', '--schema'])

/** Words; or, for the names of files, what is typed already before them (`@`, `--output=`). */
type Answer = readonly Candidate[] | string

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
 * @param commands all of `help --json`, of which the build keeps beside this code what is read here
 * @param sent a shell and what its script passes on; from the scripts of 0.1.0 a kind of live values and words of a command
 * @public
 */
export async function complete(
  [shell = '', ...sent]: readonly string[],
  place: Place,
  commands = () => JSON.parse(__COMPLETED_COMMANDS__) as readonly HelpCommand[],
): Promise<string> {
  try {
    if (!Object.hasOwn(shells, shell)) return print(await liveWords(shell, sent, '', place), tabbed)
    const { words, kept, line } = shells[shell]!(sent)
    const answer = await answerTo(words, commands(), place)
    return typeof answer === 'string' ? `\t${answer.slice(kept)}\n` : print(answer, line)
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

async function answerTo(
  words: readonly string[],
  all: readonly HelpCommand[],
  place: Place,
): Promise<Answer> {
  let command = all[0]!
  let mayBeCommand = true
  let mayBeFlag = true
  let pending: Flag | undefined
  const given = new Set<string>()
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      pending = undefined
    } else if (mayBeFlag && word === '--') {
      mayBeFlag = false
      mayBeCommand = false
    } else if (mayBeFlag && isFlag(word)) {
      const { flag, before } = flagIn(command, word)
      if (flag !== undefined) given.add(flag.flag)
      if (before === '' && flag?.value != null) pending = flag
    } else if (mayBeCommand && command.commands.includes(word)) {
      command = childOf(command, word)
    } else {
      mayBeCommand = false
    }
  }
  const typed = words.at(-1) ?? ''
  const values = async (name: string, targets: readonly Target[], before = ''): Promise<Answer> => {
    const start = typed.slice(before.length)
    const isFile = targets.some((target) => target.name.split('|').includes('file'))
    if (isFile || fileOptions.has(name)) return before
    if (start.startsWith('@')) return `${before}@`
    const known = targets.flatMap((target) => target.values ?? []).map((value) => ({ value, about: '' }))
    const [kind] = Object.entries(liveNames).find(([, names]) => names.includes(name)) ?? []
    const live = kind === undefined ? [] : await liveWords(kind, command.name.split(' '), start, place)
    return [...known, ...live].map((word) => ({ ...word, value: before + word.value }))
  }
  const valuesOf = async (flag?: Flag, before?: string): Promise<Answer> =>
    flag?.value ? values(flag.flag, [{ ...flag.value, name: flag.value.placeholder }], before) : []
  if (pending !== undefined) return valuesOf(pending)
  if (mayBeFlag && (isFlag(typed) || typed === '-')) {
    const { flag, before } = flagIn(command, typed)
    if (before !== '') return valuesOf(flag, before)
    const left = flagsOf(command).filter((one) => one.repeatable || !given.has(one.flag))
    return left.flatMap((one) => namesOf(one).map((value) => ({ value, about: one.about })))
  }
  const own = await values(command.name, command.arguments)
  if (typeof own === 'string' || !mayBeCommand) return own
  return [...command.commands.map((value) => ({ value, about: childOf(command, value).about })), ...own]

  function childOf({ name }: HelpCommand, word: string): HelpCommand {
    return all.find((one) => one.name === `${name} ${word}`.trim())!
  }
}

/** They need far more code than the rest. */
async function liveWords(kind: string, command: readonly string[], start: string, place: Place) {
  return (await import('./live-values.ts')).liveValues(kind, command, start, place)
}

type Flag = Pick<HelpOption, 'flag' | 'short' | 'about' | 'repeatable' | 'value'>

/** What takes a value: an argument, or an option under the name of its value. */
type Target = Pick<HelpCommand['arguments'][number], 'name' | 'values'>

const switches = { repeatable: false, value: null }
const version: Flag = { flag: '--version', short: '-V', about: 'print the version', ...switches }
const help: Flag = { flag: '--help', short: '-h', about: 'show help', ...switches }

function flagsOf({ name, options }: HelpCommand): readonly Flag[] {
  return [...(name === '' ? [version] : []), ...options, help]
}

const namesOf = ({ flag, short }: Flag) => (short === null ? [flag] : [short, flag])

/** As the parser has it: `-5` and `-` are text. */
const isFlag = (word: string) => /^-[A-Za-z-]/.test(word)

/** The flag that a word is, and what of it stands before the value: `--flag=`, `-f` or, of letters together, `-abf`. */
function flagIn(command: HelpCommand, word: string): { flag: Flag | undefined; before: string } {
  const flags = flagsOf(command)
  const named = (name: string) => flags.find((one) => namesOf(one).includes(name))
  const equals = word.indexOf('=')
  if (word.startsWith('--') && equals !== -1) {
    return { flag: named(word.slice(0, equals)), before: word.slice(0, equals + 1) }
  }
  const letters = word.startsWith('--') ? '' : word.slice(1)
  const letter = [...letters].find((one) => named(`-${one}`)?.value != null)
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
