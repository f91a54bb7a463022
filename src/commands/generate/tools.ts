import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { parseJsonFlag } from '../shared/json-value.ts'

/** Tools that need no configuration, by their short names (wire facts, section 1, "Request fields"). */
const builtIn: Readonly<Record<string, string>> = {
  google_search: 'googleSearch',
  code_execution: 'codeExecution',
  url_context: 'urlContext',
  google_maps: 'googleMaps',
}

/** Every form of `--tool`, for the help. */
export const contentToolForms = [...Object.keys(builtIn), 'or a function or whole tool: @file, JSON'].join(
  ', ',
)

/**
 * One `--tool`: a built-in tool by name, or a function declaration (or a whole tool) as JSON or `@file`.
 * @throws UsageError for an unknown name
 */
export async function readContentTool(context: Context, text: string): Promise<unknown> {
  if (Object.hasOwn(builtIn, text)) return { [builtIn[text]!]: {} }
  if (!/^\s*[{@]/.test(text)) {
    throw new UsageError(
      `--tool ${JSON.stringify(text)} is none of ${Object.keys(builtIn).join(', ')}, and no JSON or @file.`,
    )
  }
  const value = await parseJsonFlag(context, '--tool', text)
  // A declaration has a name; a whole tool has none.
  const isDeclaration = typeof (value as { name?: unknown } | null)?.name === 'string'
  return isDeclaration ? { functionDeclarations: [value] } : value
}
