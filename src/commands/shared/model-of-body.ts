import type { CommonOptions } from './common-options.ts'
import { isSet, type Body } from './request-body.ts'

/** The model that the body names, unless `-m` names another: `-m` overrides `--body`, and `--set` overrides both. */
export function modelOfBody({ model }: Body, options: CommonOptions): string | undefined {
  const isOverridden = options.model !== undefined && !isSet(options, 'model')
  return typeof model === 'string' && model !== '' && !isOverridden ? model : undefined
}
