import {
  count,
  define,
  list,
  number,
  object,
  oneOf,
  seconds,
  text,
  textOrNull,
  texts,
  version,
  type Infer,
} from './output-schema.ts'
import { warnings } from './text.ts'

export const usageGroupings = ['model', 'command', 'day'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

const amount = object({
  currency: text('as in the prices of the configuration'),
  amount: number('an estimate'),
})

const sums = {
  calls: count('calls that asked for something to be created'),
  failed: count('of them failed, for whatever reason'),
  maybe_billed: count('of them have an unknown outcome, and may have been billed'),
  images: count('images that came'),
  video_seconds: seconds('seconds of video'),
  input_tokens: count('tokens of the input'),
  cached_tokens: count('of them read from a cache'),
  output_tokens: count('tokens of the output'),
  costs: list(amount, 'estimated cost, by currency; empty where nothing is known'),
  unknown_costs: count('calls whose cost is not known'),
  unknown_reasons: texts('why, each reason once'),
}

export type UsageRow = Infer<typeof usageRow.schema>
const usageRow = define(
  'usage_row',
  object({
    key: textOrNull('the model, the command or the local day; null for a model that nobody named'),
    ...sums,
  }),
)

export type UsageSums = Infer<typeof usageSums.schema>
const usageSums = define('usage_sums', object(sums))

export const usageReportDefinitions = [usageRow, usageSums] as const

/** The document of `usage`. */
export type UsageDocument = Infer<typeof usageReportDocument>
export const usageReportDocument = object({
  version,
  command: oneOf(['usage'], 'the command that ran'),
  since: textOrNull('the beginning of the time that was asked for, as an ISO date; null for all of the log'),
  by: oneOf(usageGroupings, 'what the rows stand for'),
  rows: list(usageRow.reference, 'the most expensive first; days in their order'),
  total: usageSums.reference,
  sandbox_calls: count('calls of the sandbox, which are not among the others'),
  warnings,
})
