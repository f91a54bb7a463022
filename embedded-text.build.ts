import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { build, type Plugin } from 'rolldown'

const marker = '?text'

/**
 * `import('./page.css?text')` gives a module with the `text` of that file: of a style sheet without comments, of
 * TypeScript as one script, bundled and minified, for pages that the program writes.
 */
export function embeddedText(): Plugin {
  return {
    name: 'embed-text',
    resolveId(source, importer) {
      if (!source.endsWith(marker) || importer === undefined) return null
      // Named so that nobody takes it for a style sheet, or for a module of the program.
      return `\0text:${resolve(dirname(importer), source.slice(0, -marker.length))}.js`
    },
    async load(id) {
      if (!id.startsWith('\0text:')) return null
      const path = id.slice('\0text:'.length, -'.js'.length)
      const text = path.endsWith('.css') ? shortStyles(readFileSync(path, 'utf8')) : await scriptOf(path)
      return { code: `export const text = ${JSON.stringify(text)}`, moduleSideEffects: false }
    },
  }
}

/** @param text without strings that hold two spaces or a comment */
function shortStyles(text: string): string {
  return text
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .trim()
}

async function scriptOf(path: string): Promise<string> {
  const { output } = await build({
    input: path,
    platform: 'browser',
    write: false,
    output: { format: 'iife', minify: true },
  })
  return output[0].code.trim()
}
