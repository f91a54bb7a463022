/** Money, exact: a whole number of 10^-18 of the currency, so that many small amounts add up without drift. */
export type Amount = bigint

export interface Money {
  readonly amount: Amount
  readonly currency: string
}

const decimals = 18
const unit = 10n ** BigInt(decimals)

/** A price as it is written in a file, exactly: 0.1 is a tenth, not the binary number next to it. */
export function amountOf(price: number): Amount {
  return amountFrom(String(price)) ?? 0n
}

/** Reads a decimal number from 0 on; undefined for anything else. What is smaller than a unit is cut off. */
export function amountFrom(text: string): Amount | undefined {
  const found = /^(\d+)(?:\.(\d+))?(?:e([+-]\d{1,3}))?$/.exec(text)
  if (found === null) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = found
  const shift = decimals - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift)
}

/** As many times the amount, which may be a fraction, to thousandths. */
export function times(amount: Amount, count: number): Amount {
  return (amount * BigInt(Math.round(count * 1000))) / 1000n
}

export function amountText(amount: Amount): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`
}

export function amountNumber(amount: Amount): number {
  return Number(amountText(amount))
}

/** For a person: two decimals from 1 on, below that three digits that count: `12.35`, `0.50`, `0.0123`. */
export function shownAmount(amount: Amount): string {
  if (amount === 0n) return '0'
  const value = amountNumber(amount)
  if (amount >= unit) return value.toFixed(2)
  const places = Math.min(decimals, 2 - Math.floor(Math.log10(value)))
  return value.toFixed(places).replace(/(\.\d\d+?)0+$/, '$1')
}

/** What is known of it together; null where nothing is. @param parts of one currency */
export function sumOfMoney(parts: readonly (Money | null)[]): Money | null {
  const known = parts.filter((part) => part !== null)
  const [first] = known
  if (first === undefined) return null
  return { amount: known.reduce((sum, { amount }) => sum + amount, 0n), currency: first.currency }
}
