/** Times as people read them: on the clock of this machine. All are milliseconds since 1970. */

export function midnight(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0)
}

/** `2026-11-22 09:30` */
export function localMinute(time: number): string {
  const date = new Date(time)
  return `${localDay(time)} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** `2026-11-22` */
export function localDay(time: number): string {
  const date = new Date(time)
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** `2026-11-22 09:30:05` */
export function localSecond(time: number): string {
  return `${localMinute(time)}:${two(new Date(time).getSeconds())}`
}

const two = (number: number) => String(number).padStart(2, '0')
