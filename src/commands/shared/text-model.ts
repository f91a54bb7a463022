import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Settings } from '../../config/settings.ts'
import { askText, canAsk } from './ask.ts'
import type { CommonOptions } from './common-options.ts'
import type { ProblemList } from './problem-list.ts'

/** The model that the sandbox advertises. */
const sandboxModel = 'sandbox-text'

/**
 * The text model: `-m`, then environment and configuration, then the sandbox's; else asked for.
 * @param settings undefined when they could not be read: then nothing is missed
 * @param problems when there are any, nobody is asked: the call fails anyway
 * @throws UsageError when no one names a model
 */
export async function chooseTextModel(
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
  problems: ProblemList,
): Promise<string | undefined> {
  const configured = settings === undefined ? options.model : settings.textModel.value
  if (configured !== undefined && configured !== '') return configured
  if (settings === undefined) return undefined
  if (options.sandbox) return sandboxModel
  if (!problems.any && canAsk(context, !options.input)) {
    const answer = await askText(context, 'Model:')
    if (answer.trim() !== '') return answer.trim()
  }
  throw new UsageError('No model was named.', {
    code: 'model_missing',
    hint: 'Name one with -m, MODELGATE_TEXT_MODEL, or text_model in the configuration.',
  })
}
