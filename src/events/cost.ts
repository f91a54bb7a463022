import * as f from './fields.ts'

/** What a call has cost, by the prices of the configuration. */
export type CostEstimate = f.Infer<typeof estimate>
export const estimate = f.define(
  'cost',
  f.object({
    amount: f.numberOrNull('how much, by the prices of the configuration; null when it is not known'),
    currency: f.textOrNull('the currency of those prices; null with an unknown amount'),
    estimate: f.flag('true: only the invoice knows what a call really costs'),
    reason: f.textOrNull('why the amount is not known, or why it is 0'),
  }),
)

/** The field of every document of a call that may cost money. */
export const cost = f.orNull(
  estimate,
  'an estimate of what the call has cost; null without prices in the configuration, and for look-ups',
)
