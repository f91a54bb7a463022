import { define, flag, numberOrNull, object, orNull, textOrNull, type Infer } from './output-schema.ts'

/** What a call has cost, by the prices of the configuration. */
export type CostEstimate = Infer<typeof estimate.schema>
export const estimate = define(
  'cost',
  object({
    amount: numberOrNull('how much, by the prices of the configuration; null when it is not known'),
    currency: textOrNull('the currency of those prices; null with an unknown amount'),
    estimate: flag('true: only the invoice knows what a call really costs'),
    reason: textOrNull('why the amount is not known, or why it is 0'),
  }),
)

export const costDefinitions = [estimate] as const

/** The field of every document of a call that may cost money. */
export const cost = orNull(
  estimate.reference,
  'an estimate of what the call has cost; null without prices in the configuration, and for look-ups',
)
