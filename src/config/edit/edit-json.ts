import { changedData, type Change } from './change.ts'

/** A JSON text after the changes, with its indentation. */
export function editJson(text: string, changes: readonly Change[]): string {
  const document = changes.reduce<unknown>(changedData, text.trim() === '' ? {} : JSON.parse(text))
  // A file in one line stays in one line.
  const [, indent] = /^[ \t]*[{[][ \t]*\r?\n([ \t]+)/.exec(text) ?? []
  const isOneLine = indent === undefined && /^\s*[{[]./.test(text) && !/^\s*\{\s*\}\s*$/.test(text)
  const edited = JSON.stringify(document, undefined, isOneLine ? undefined : (indent ?? 2))
  const [end] = /\s*$/.exec(text)!
  return edited + (text.trim() === '' ? '\n' : end)
}
