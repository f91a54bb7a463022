import { UsageError } from '../../../errors.ts'
import { isDryRun } from '../options/common-options.ts'
import { askText, canAsk } from '../input/questions.ts'
import { readPrompt } from '../input/standard-input.ts'
import { hasModel, isSet, type Draft } from './build-request.ts'
import { parseTextFlag } from './flag-values.ts'

/**
 * A call that fails anyway neither asks nor reads standard input.
 * @param isContained whether the request has content already: then standard input is read only for `-`
 * @param carried the model of the conversation that is continued
 * @returns undefined if the request already has its content and nothing was added, or the prompt is among the problems
 */
export async function readTextPrompt(
  draft: Draft,
  isContained: boolean,
  carried?: string,
): Promise<string | undefined> {
  const { context, options, words, prompt, problems, settings } = draft
  // A body that could not be read probably held the content.
  const hasContent = isContained || (problems.any && options.body !== undefined)
  const isAsked = (words.length === 0 && prompt === undefined && !hasContent) || !hasModel(draft, carried)
  const needsKey = !options.sandbox && !isDryRun(options)
  if (isAsked && !problems.any && settings !== undefined && needsKey && canAsk(context, options.noInput)) {
    // So that nothing is typed for a call that cannot be sent.
    await problems.check(() => settings.apiKey())
  }
  if (prompt !== undefined) return prompt
  return await problems.check(() => {
    const given = joinedWords(words)
    if (given === undefined && hasContent) return undefined
    if (given?.trim() === '') throw missing('The prompt is empty.')
    return problems.any ? unaskedPrompt(draft, given) : askedPrompt(draft, given)
  })
}

export async function readPromptField(draft: Draft): Promise<string | undefined> {
  const { body } = draft
  const hasContent = body['prompt'] !== undefined || isSet(draft, 'prompt')
  const prompt = await readTextPrompt(draft, hasContent)
  if (prompt !== undefined) body['prompt'] = prompt
  return prompt
}

async function askedPrompt(
  { context, options, settings, modelKind }: Draft,
  given: string | undefined,
): Promise<string> {
  const argument =
    given !== undefined && /^\\?@/.test(given) ? await parseTextFlag(context, 'The prompt', given) : given
  const prompt = await readPrompt(context, {
    argument,
    noStdin: !options.stdin ? 'flag' : settings?.noStdin.value === true && 'setting',
    // Otherwise piped input may be the list of a loop, or a picture, so it is not read if there is a prompt.
    joins: modelKind === 'text',
    stdinTimeout: options.stdinTimeout,
    notice: (line) => {
      if (!options.quiet && settings?.quiet.value !== true) context.stderr.write(`modelgate: ${line}\n`)
    },
  })
  if (prompt?.trim() === '') throw missing('The prompt is empty.')
  if (prompt !== undefined) return prompt
  const answer = canAsk(context, options.noInput) ? await askText(context, 'Prompt:') : ''
  if (answer.trim() === '') throw missing('No prompt was given.', ways)
  return answer
}

/** Without asking the user or reading standard input. */
async function unaskedPrompt(
  { context, options }: Draft,
  given: string | undefined,
): Promise<string | undefined> {
  if (given === undefined && (!options.stdin || context.stdin.kind === 'empty'))
    throw missing('No prompt was given.', ways)
  const isInput = given === undefined || given === '-' || given === '@-'
  return isInput ? undefined : await parseTextFlag(context, 'The prompt', given)
}

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
