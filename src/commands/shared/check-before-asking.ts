import { resolveKey } from '../../config/key.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { canAsk } from './ask.ts'
import type { CommonOptions } from './common-options.ts'
import { isDryRun } from './dry-run.ts'

/**
 * Looks for the key before somebody is asked for a prompt or a model, which would be typed in vain without one.
 * Does nothing where nobody is asked, or no key is needed.
 * @param settings undefined when they could not be read: then nobody is asked
 * @throws what `resolveKey` throws
 */
export async function checkBeforeAsking(
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
): Promise<void> {
  const needsKey = !options.sandbox && !isDryRun(options)
  if (settings !== undefined && needsKey && canAsk(context, !options.input))
    await resolveKey(context, settings)
}
