import { Option } from 'commander'
import { UsageError } from '../../../errors.ts'
import { suggestWords } from './common-options.ts'

/** An option that takes one of a few words. Parsing throws a UsageError for any other. */
export function wordOption(flags: string, about: string, words: readonly string[]): Option {
  const option = suggestWords(new Option(flags, about), words)
  return option.argParser((text: string) => {
    if (words.includes(text)) return text
    throw new UsageError(`${option.long} must be one of ${words.join(', ')}, not ${JSON.stringify(text)}.`)
  })
}

/** An option that takes a whole number. Parsing throws a UsageError for anything else. */
export function numberOption(flags: string, about: string, min = 0, max?: number): Option {
  const option = new Option(flags, about)
  return option.argParser((text: string) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : NaN
    if (number >= min && number <= (max ?? Number.MAX_SAFE_INTEGER)) return number
    const range = `from ${min}${max === undefined ? '' : ` to ${max}`}`
    throw new UsageError(`${option.long} must be a whole number ${range}, not ${JSON.stringify(text)}.`)
  })
}
