import { UsageError } from '../../../errors.ts'
import type { SilenceStep } from '../../../files/input-file.ts'
import { defaultSeconds } from '../../../limits.ts'
import { counted } from '../../../quantities.ts'
import { isStandardInputClaimed, readStandardInputText } from '../input/standard-input.ts'
import { askFor, hasField, type Draft } from './build-request.ts'
import { valueOf } from './contract-flags.ts'
import { parseTextFlag } from './flag-values.ts'

/**
 * A call that fails anyway neither asks nor reads standard input.
 * @param isContained whether the request has content that its shape does not name
 * @returns undefined if the request already has its content and nothing was added, or the prompt is among the problems
 */
export async function readTextPrompt(draft: Draft, isContained = false): Promise<string | undefined> {
  const { context, options, words, prompt, problems, content = { fields: [], flags: [] } } = draft
  if (prompt !== undefined) return prompt
  // What could not be read probably held the content.
  const isGiven = (flag: string) => valueOf(options, flag) !== undefined
  const isUnread = problems.any && ['body', ...content.flags].some(isGiven)
  const hasContent = isContained || isUnread || content.fields.some((field) => hasField(draft, field))
  return await problems.check(async () => {
    const given = joinedWords(words)
    if (given === undefined && hasContent) return undefined
    if (given?.trim() === '') throw missing('The prompt is empty.')
    const isFailing = problems.any
    if (isFailing && (given === undefined || /^@?-$/.test(given))) {
      const isMissing = given === undefined && (!options.stdin || context.stdin.kind === 'empty')
      if (isMissing) throw missing('No prompt was given.', ways)
      return undefined
    }
    const isFile = given !== undefined && /^\\?@/.test(given)
    const argument = isFile ? await parseTextFlag(context, 'The prompt', given) : given
    if (isFailing) return argument
    const read = await readPrompt(draft, argument)
    if (read?.trim() === '') throw missing('The prompt is empty.')
    const answer = read ?? (await askFor(draft, 'Prompt:'))
    if (answer.trim() === '') throw missing('No prompt was given.', ways)
    return answer
  })
}

export async function readPromptField(draft: Draft): Promise<string | undefined> {
  const prompt = await readTextPrompt(draft, hasField(draft, 'prompt'))
  if (prompt !== undefined) draft.body['prompt'] = prompt
  return prompt
}

const noticeAfterMs = 1000

/**
 * From both, piped text comes first. Undefined if there is neither; empty if standard input was read and empty.
 * Call it after the flags have been read, one of which may have claimed standard input (`@-`). Beside a prompt, a file that
 * another process is reading, such as the list of a `while read` loop, is not touched.
 * @param argument `-` alone means standard input, and overrides the setting that forbids it
 * @throws UsageError `input_silent`, `wrong_type`, `usage`, `file_too_large`
 */
export async function readPrompt(
  { context, options, settings, modelKind }: Pick<Draft, 'context' | 'options' | 'settings' | 'modelKind'>,
  argument: string | undefined,
): Promise<string | undefined> {
  if (argument === '-') {
    if (!options.stdin) throw new UsageError('The prompt "-" reads standard input, which --no-stdin forbids.')
    return await readStandardInputText(context, 'the prompt -')
  }
  const { kind, consumed } = context.stdin
  const isForbidden = !options.stdin || settings?.noStdin.value === true || isStandardInputClaimed(context)
  if (isForbidden || kind === 'terminal' || kind === 'empty') return argument
  const notice = (line: string) => {
    if (!options.quiet && settings?.quiet.value !== true) context.stderr.write(`modelgate: ${line}\n`)
  }
  const read = (steps: readonly SilenceStep[]) =>
    readStandardInputText(context, 'the piped prompt', kind === 'pipe' ? steps : [])
  if (argument === undefined) {
    const act = () => notice('Waiting for the prompt on standard input, an open pipe.')
    return await read([{ afterMs: noticeAfterMs, act }])
  }
  // It may be the list of a loop, or a picture.
  if (modelKind !== 'text') return argument
  if (consumed !== 'none') {
    if (consumed === 'some') {
      notice(
        'Standard input was left unread: it is a file that has been read in part, for example by a `while read` loop. ' +
          '"-" as the prompt reads the rest; --no-stdin silences this note.',
      )
    }
    return argument
  }
  const piped = await read(silenceSteps(options.stdinTimeout ?? defaultSeconds.standardInput, notice))
  if (!/\S/.test(piped)) return argument
  const place = kind === 'file' ? 'the file on standard input' : 'standard input'
  notice(`Joined ${counted(Buffer.byteLength(piped), 'byte')} of ${place} (in a loop: --no-stdin).`)
  const gap = piped.endsWith('\n\n') ? '' : piped.endsWith('\n') ? '\n' : '\n\n'
  return `${piped}${gap}${argument}`
}

/** @param seconds 0 waits for ever */
function silenceSteps(seconds: number, notice: (line: string) => void): SilenceStep[] {
  const waiting: SilenceStep = {
    afterMs: noticeAfterMs,
    act: () => notice(`Waiting for text on standard input, an open pipe. ${alternatives}`),
  }
  const timeout: SilenceStep = {
    afterMs: seconds * 1000,
    act() {
      const message = `There is a prompt, but standard input is a pipe that stayed open without sending anything for ${seconds} s.`
      throw new UsageError(message, { code: 'input_silent', hint: alternatives })
    },
  }
  if (seconds === 0) return [waiting]
  return timeout.afterMs > noticeAfterMs ? [waiting, timeout] : [timeout]
}

const alternatives =
  'To send the prompt alone, add --no-stdin (or set MODELGATE_NO_STDIN=1) or </dev/null; ' +
  'to read the pipe alone, give "-" as the prompt; ' +
  'to wait longer, set --stdin-timeout SECONDS.'

const ways = 'Give it as words, pipe it in, or use "-" to read standard input.'

/** Among several words `-` or `@file` would be sent literally, which is most likely not intended. */
function joinedWords(words: readonly string[]): string | undefined {
  if (words.length === 0) return undefined
  const special = words.length === 1 ? undefined : words.find((word) => word === '-' || /^@./.test(word))
  if (special === undefined) return words.join(' ')
  const fix = /^@?-$/.test(special)
    ? 'Without it, piped text comes before the prompt'
    : `To put its text before the other words, pipe it in: <${special.slice(1)}`
  throw new UsageError(
    `${JSON.stringify(special)} is read only when it is the whole prompt, not among other words.`,
    { hint: `${fix}; to send the words themselves, put quotes around all of them.` },
  )
}

function missing(message: string, hint?: string): UsageError {
  return new UsageError(message, { code: 'prompt_missing', hint })
}
