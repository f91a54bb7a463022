import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { Settings } from '../../config/settings.ts'
import { askText, canAsk } from './ask.ts'
import type { CommonOptions } from './common-options.ts'

/** The model that the sandbox advertises. */
const sandboxModel = 'sandbox-text'

/**
 * The text model: `-m`, then the body's own, then environment and configuration, then the sandbox's; else asked for.
 * @throws UsageError when no one names a model
 */
export async function chooseTextModel(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  inBody?: unknown,
): Promise<string> {
  if (options.model === undefined && typeof inBody === 'string' && inBody !== '') return inBody
  const configured = settings.textModel.value
  if (configured !== undefined && configured !== '') return configured
  if (options.sandbox) return sandboxModel
  if (canAsk(context, !options.input)) {
    const answer = await askText(context, 'Model:')
    if (answer.trim() !== '') return answer.trim()
  }
  throw new UsageError('No model was named.', {
    code: 'model_missing',
    hint: 'Name one with -m, MODELGATE_TEXT_MODEL, or text_model in the configuration.',
  })
}
