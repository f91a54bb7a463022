import { UsageError } from '../../errors.ts'
import { isObject } from '../../gateway/json-access.ts'
import { appendEntries, type Body } from '../shared/request-body.ts'

interface SafetySetting {
  readonly category: string
  readonly threshold: string
}

/**
 * One `--safety category=threshold`. The category may be given without its prefix and in lower case.
 * @throws UsageError when it is not one name, `=` and one word
 */
export function readSafety(text: string): SafetySetting {
  const [name = '', threshold = '', ...rest] = text.split('=')
  if (name.trim() === '' || threshold.trim() === '' || rest.length > 0) {
    throw new UsageError(
      `--safety ${JSON.stringify(text)} must be category=threshold, such as harassment=BLOCK_NONE.`,
    )
  }
  const category = name.trim().toUpperCase().replaceAll('-', '_')
  return {
    category: category.startsWith('HARM_CATEGORY_') ? category : `HARM_CATEGORY_${category}`,
    threshold: threshold.trim().toUpperCase().replaceAll('-', '_'),
  }
}

/** Adds the settings of `--safety`; one that is there already for the same category gives way. */
export function addSafety(body: Body, settings: readonly SafetySetting[]): void {
  const given = new Set<unknown>(settings.map(({ category }) => category))
  const before = body['safetySettings']
  if (Array.isArray(before)) {
    body['safetySettings'] = before.filter((entry) => !isObject(entry) || !given.has(entry['category']))
  }
  appendEntries(body, 'safetySettings', settings)
}
