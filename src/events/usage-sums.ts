import * as f from './fields.ts'
import { warnings } from './text.ts'

export const usageGroupings = ['model', 'command', 'day'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

const amount = f.object({
  currency: f.text('as in the prices of the configuration'),
  amount: f.number('an estimate'),
})

const sums = {
  calls: f.count('calls that asked for something to be created'),
  failed: f.count('of them failed, for whatever reason'),
  maybe_billed: f.count('of them have an unknown outcome, and may have been billed'),
  images: f.count('images that came'),
  video_seconds: f.seconds('seconds of video'),
  input_tokens: f.count('tokens of the input'),
  cached_tokens: f.count('of them read from a cache'),
  output_tokens: f.count('tokens of the output'),
  costs: f.list(amount, 'estimated cost, by currency; empty where nothing is known'),
  unknown_costs: f.count('calls whose cost is not known'),
  unknown_reasons: f.texts('why, each reason once'),
}

export type UsageRow = f.Infer<typeof usageRow>
const usageRow = f.define(
  'usage_row',
  f.object({
    key: f.textOrNull('the model, the command or the local day; null for a model that nobody named'),
    ...sums,
  }),
)

export type UsageSums = f.Infer<typeof usageSums>
const usageSums = f.define('usage_sums', f.object(sums))

/** The document of `usage`. */
export type UsageDocument = f.Infer<typeof usageReportDocument>
export const usageReportDocument = f.document(['usage'], {
  since: f.textOrNull(
    'the beginning of the time that was asked for, as an ISO date; null for all of the log',
  ),
  by: f.oneOf(usageGroupings, 'what the rows stand for'),
  rows: f.list(usageRow, 'the most expensive first; days in their order'),
  total: usageSums,
  sandbox_calls: f.count('calls of the sandbox, which are not among the others'),
  warnings,
})
