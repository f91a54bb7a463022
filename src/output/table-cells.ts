import { sanitise } from './gate.ts'

/** Between two columns. */
export const gap = '  '

/** An upper bound: characters outside ASCII may take two columns. */
export function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += /[ -~]/.test(character) ? 1 : 2
  return width
}

/** Filled with spaces to a width. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Cut to a width, with a sign that it was. */
export function shortened(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (textWidth(kept + character) > width - 2) break
    kept += character
  }
  return width < 2 ? '' : `${kept}…`
}

/** In one line, and safe for a terminal. */
export function oneLine(text: string): string {
  return sanitise(text.replaceAll(/\s+/g, ' ').trim())
}
