/** `1 file`, `3 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A duration like a clock: `0:05`, `12:40`, `1:02:03`. */
export function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const rest = `${String(whole % 60).padStart(2, '0')}`
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${String(minutes).padStart(2, '0')}:${rest}`
}

/** A rounded duration, in one unit: `40 s`, `52 min`, `3 h`, `2 d`. */
export function roundedDuration(seconds: number): string {
  if (seconds < 90) return `${Math.floor(seconds)} s`
  if (seconds < 90 * 60) return `${Math.floor(seconds / 60)} min`
  return seconds < 36 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** A number of bytes with a unit: `830 B`, `4.2 MB`, `120 MB`. */
export function byteText(bytes: number): string {
  let [amount, unit] = [bytes, 0]
  while (amount >= 999.5 && unit < units.length - 1) [amount, unit] = [amount / 1000, unit + 1]
  return `${unit > 0 && amount < 99.95 ? amount.toFixed(1) : Math.round(amount)} ${units[unit]}`
}

/** The first of some names: `a, b and 3 more`. @param most how many are named */
export function firstFew(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}

/** `1,234,567`; fractions as they are. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+(?!\d)(?<!\.\d*))/g, ',')
}
