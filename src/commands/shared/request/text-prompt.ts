import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { askText, canAsk } from '../input/questions.ts'
import { readPrompt } from '../input/standard-input.ts'
import { parseTextFlag } from './request-body.ts'

interface PromptUse {
  /** Undefined when they could not be read. */
  readonly settings: Settings | undefined
  /** Whether the body already holds a conversation; then standard input is read only for `-`. */
  readonly hasContent: boolean
  /** Whether piped text and a prompt make one prompt. */
  readonly joins: boolean
}

/**
 * The prompt from the command line, standard input, or the person at the terminal.
 * Undefined only when the request already has its content and nothing was added.
 * @param words `-` or `@file` alone is read; several are a text, with a space between them
 * @throws UsageError when there is no prompt, or an empty one, or one word among several asks for what is not read there
 */
export async function readTextPrompt(
  context: Context,
  words: readonly string[],
  options: CommonOptions,
  { settings, hasContent, joins }: PromptUse,
): Promise<string | undefined> {
  const given = joinedWords(words)
  if (given === undefined && hasContent) return undefined
  if (given?.trim() === '') throw emptyPrompt()
  const argument =
    given === undefined || given === '-' ? given : await parseTextFlag(context, 'The prompt', given)
  const prompt = await readPrompt(context, {
    argument,
    noStdin: !options.stdin ? 'flag' : settings?.noStdin.value === true && 'setting',
    joins,
    ...(options.stdinTimeout === undefined ? {} : { stdinTimeout: secondsOf(options.stdinTimeout) }),
    saysJoined: () => !context.stderr.isTerminal || isFirstToday(context),
    notice: (line) => {
      if (!options.quiet && settings?.quiet.value !== true) context.stderr.write(`modelgate: ${line}\n`)
    },
  })
  if (prompt === undefined) return askForPrompt(context, options)
  if (prompt.trim() === '') throw emptyPrompt()
  return prompt
}

const dayMs = 24 * 60 * 60 * 1000

/** Whether this terminal was not told within a day that text is joined; from now on it was. Best effort. */
function isFirstToday(context: Context): boolean {
  const folder = stateFolder(context)
  const { terminalId, clock } = context
  if (folder === undefined || terminalId === undefined) return true
  const marker = join(folder, 'told-joined')
  try {
    if (readFileSync(marker, 'utf8') === terminalId && clock.now() - statSync(marker).mtimeMs < dayMs)
      return false
  } catch {
    // There is none.
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(marker, terminalId, { mode: 0o600 })
  } catch {
    // Then it is told again.
  }
  return true
}

/**
 * Checks the prompt without asking the user or reading standard input, for a call that fails anyway.
 * @throws UsageError when there is no prompt, or an empty one
 */
export async function checkTextPrompt(
  context: Context,
  words: readonly string[],
  options: CommonOptions,
  { hasContent }: PromptUse,
): Promise<string | undefined> {
  const given = joinedWords(words)
  if (given === undefined) {
    const canRead = hasContent || (options.stdin && context.stdin.kind !== 'empty')
    if (!canRead) throw missingPrompt()
    return undefined
  }
  if (given.trim() === '') throw emptyPrompt()
  return given === '-' || given === '@-' ? undefined : await parseTextFlag(context, 'The prompt', given)
}

/**
 * The words of the command line as one text. Among several words `-` or `@file` would be sent literally, which is most
 * likely not intended.
 * @throws UsageError `word_not_read`
 */
function joinedWords(words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined
  const special = words.length === 1 ? undefined : words.find((word) => word === '-' || /^@./.test(word))
  if (special === undefined) return words.join(' ')
  const fix = /^@?-$/.test(special)
    ? 'Without it, piped text comes before the prompt'
    : `To put its text before the other words, pipe it in: <${special.slice(1)}`
  throw new UsageError(
    `${JSON.stringify(special)} is read only when it is the whole prompt, not among other words.`,
    {
      code: 'word_not_read',
      hint: `${fix}; to send the words themselves, put quotes around all of them.`,
    },
  )
}

async function askForPrompt(context: Context, options: CommonOptions): Promise<string> {
  if (canAsk(context, options.noInput)) {
    const answer = await askText(context, 'Prompt:')
    if (answer.trim() !== '') return answer
  }
  throw missingPrompt()
}

function secondsOf(text: string): number {
  const seconds = Number(text)
  if (text.trim() === '' || !(seconds >= 0))
    throw new UsageError('--stdin-timeout must be a number of seconds.')
  return seconds
}

function missingPrompt(): UsageError {
  return new UsageError('No prompt was given.', {
    code: 'prompt_missing',
    hint: 'Give it as words, pipe it in, or use "-" to read standard input.',
  })
}

function emptyPrompt(): UsageError {
  return new UsageError('The prompt is empty.', { code: 'empty_prompt' })
}

/**
 * Checks that there is a key before asking for a prompt or a model, so that nothing is typed for a call that cannot be
 * sent. Does nothing if the user is not asked or no key is needed.
 * @param settings undefined if they could not be read: then the user is not asked
 * @throws what `Settings.apiKey` throws
 */
export async function checkBeforeAsking(
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
): Promise<void> {
  const needsKey = !options.sandbox && !isDryRun(options)
  if (settings !== undefined && needsKey && canAsk(context, options.noInput)) await settings.apiKey()
}
