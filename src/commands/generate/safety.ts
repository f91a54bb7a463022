import { UsageError } from '../../errors.ts'

/**
 * One `--safety category=threshold`. The category may be given without its prefix and in lower case.
 * @throws UsageError when there is no `=`
 */
export function readSafety(text: string): { category: string; threshold: string } {
  const [name = '', threshold = ''] = text.split('=', 2)
  if (name.trim() === '' || threshold.trim() === '') {
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
