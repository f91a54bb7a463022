import { markup, type Markup } from './markup.ts'

/** JSON with a class for each kind of value; other text as it is. */
export function readableText(text: string, mediaType: string): Markup {
  const json = mediaType.includes('json') || /^\s*[[{]/.test(text) ? parsedJson(text) : undefined
  return json === undefined ? markup`${text}` : colouredJson(JSON.stringify(json, null, 2))
}

/** Undefined for what is not JSON, or only its beginning. */
function parsedJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** A name, a string, a number or a word; everything between them is punctuation. */
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g

/** @param json as `JSON.stringify` writes it */
function colouredJson(json: string): Markup {
  const parts: Markup[] = []
  let end = 0
  for (const match of json.matchAll(token)) {
    const [all, text, colon, number] = match
    const between = json.slice(end, match.index)
    const kind = colon !== undefined ? 'name' : text !== undefined ? 'text' : number ? 'number' : 'word'
    const shown = text ?? all
    parts.push(markup`${between}<span class="json-${kind}">${unescaped(shown)}</span>${colon}`)
    end = match.index + all.length
  }
  return markup`${parts}${json.slice(end)}`
}

/** Line breaks in a string are easier to read as such. */
function unescaped(text: string): string {
  return text.replaceAll(/(?<!\\)((?:\\\\)*)\\n/g, '$1\n')
}
