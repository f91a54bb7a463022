import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { createBlockParser } from '../../../src/output/markdown/block-parser.ts'
import {
  code,
  emphasis,
  html,
  strikethrough,
  strong,
  type Piece,
} from '../../../src/output/markdown/inline-pieces.ts'
import { parseInline } from '../../../src/output/markdown/inline-parser.ts'
import { createInlineStream, type InlineStream } from '../../../src/output/markdown/inline-stream.ts'
import { createDefinitions, unescaped, type Definitions } from '../../../src/output/markdown/link-targets.ts'

/** The structure of a text, one block a line: its containers, what it is, and its text with the styles in brackets. */
export type Outline = readonly string[]

/**
 * As our parsers have it.
 * @param known definitions that the text has only later, as lines
 */
export function ownOutline(pieces: readonly string[], known: readonly string[] = []): Outline {
  const blocks: { name: string; text: string }[] = []
  const path: string[] = []
  const definitions = createDefinitions()
  for (const definition of known) definitions.add(definition)
  let inline: InlineStream | undefined
  const begin = (name: string) => void blocks.push({ name: [...path, name].join(' '), text: '' })
  const add = (text: string) => void (blocks.at(-1)!.text += text)
  const parser = createBlockParser({
    open(container) {
      if (container.kind === 'quote') return void path.push('quote')
      const number = container.number === undefined ? '' : container.number
      path.push(`item${number}${container.task === 'none' ? '' : `-${container.task}`}`)
      blocks.push({ name: path.join(' '), text: '' })
    },
    close: () => void path.pop(),
    blank() {},
    beginText(level) {
      begin(level === undefined ? 'paragraph' : `heading${level}`)
      inline = createInlineStream(definitions, (told) => add(written(told)))
    },
    text: (text) => inline!.push(text),
    endText: () => inline!.end(),
    underline(level) {
      blocks.at(-1)!.name = blocks.at(-1)!.name.replace(/paragraph$/, `heading${level}`)
    },
    beginCode: (fence) => begin(`code(${unescaped(fence?.info ?? '')})`),
    code: add,
    endCode() {},
    beginHtml: () => begin('html'),
    html: add,
    endHtml() {},
    rule: () => begin('rule'),
    definition(line) {
      definitions.add(line)
      begin('definition')
    },
    beginTable(head, alignments, isBegun) {
      if (isBegun) inline!.end()
      // The paragraph that its head seemed to be.
      if (isBegun || blocks.at(-1)!.text === '') blocks.pop()
      begin(`table(${alignments.join(' ')})`)
      add(row(head, definitions))
    },
    row: (cells) => add(row(cells, definitions)),
    endTable() {},
  })
  for (const piece of pieces) parser.push(piece)
  parser.end()
  return blocks.map(({ name, text }) => line(name, text))
}

function row(cells: readonly string[], definitions: Definitions): string {
  const parsed = cells.map((cell) =>
    written(parseInline(cell, { before: '', isWhole: true, definitions }).pieces),
  )
  return `${parsed.join('|')}\n`
}

const names: readonly (readonly [number, string])[] = [
  [strong, 'strong'],
  [emphasis, 'em'],
  [strikethrough, 'del'],
  [code, 'code'],
  [html, 'html'],
]

function written(pieces: readonly Piece[]): string {
  return pieces
    .filter(({ mark }) => mark === undefined)
    .map(({ text, style, link }) => {
      const isImage = link?.kind === 'image'
      const styles = names.filter(([flag]) => (style & flag) !== 0).map(([, name]) => name)
      return run(text, isImage ? [] : styles, link && `${isImage ? 'image' : 'link'}:${link.url}`)
    })
    .join('')
}

/** Characters with their styles, so that it does not matter where pieces are parted. */
function run(text: string, styles: readonly string[], link = ''): string {
  const all = [...new Set([...styles, ...(link === '' ? [] : [link])])].sort().join(',')
  const isCode = styles.includes('code')
  const shown = isCode ? text.replaceAll('\n', ' ') : text.replaceAll(/[ \t]*\n/g, '\n')
  return all === '' ? shown : [...shown].map((character) => `${character}{${all}}`).join('')
}

function line(name: string, text: string): string {
  const shown = text
    .replace(/\n+$/, '')
    .replaceAll(/[ \t]*\n[ \t]*/g, '⏎')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()
  return shown === '' ? name : `${name}: ${shown}`
}

interface Node {
  readonly type: string
  readonly children?: readonly Node[]
  readonly [name: string]: unknown
}

/** As a parser for whole texts has it, and the definitions in it. */
export function referenceOutline(source: string): {
  readonly outline: Outline
  readonly definitions: string[]
} {
  const tree = fromMarkdown(source, {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  }) as unknown as Node
  const lines: string[] = []
  const definitions = new Map<string, string>()
  collectDefinitions(tree, definitions)
  const walk = (node: Node, path: readonly string[]) => {
    const begin = (name: string, text = '') => void lines.push(line([...path, name].join(' '), text))
    switch (node.type) {
      case 'root':
        return node.children!.forEach((child) => walk(child, path))
      case 'blockquote':
        return node.children!.forEach((child) => walk(child, [...path, 'quote']))
      case 'list':
        return node.children!.forEach((item, index) => {
          const number = node['ordered'] ? (node['start'] as number) + index : ''
          const task = item['checked'] === null ? '' : item['checked'] ? '-done' : '-open'
          const inner = [...path, `item${number}${task}`]
          lines.push(inner.join(' '))
          item.children!.forEach((child) => walk(child, inner))
        })
      case 'paragraph':
        return begin('paragraph', inlineText(node, source, definitions))
      case 'heading':
        return begin(`heading${node['depth'] as number}`, inlineText(node, source, definitions))
      case 'code': {
        const info = [node['lang'], node['meta']].filter(Boolean).join(' ')
        return begin(`code(${info})`, node['value'] as string)
      }
      case 'html':
        return begin('html', node['value'] as string)
      case 'thematicBreak':
        return begin('rule')
      case 'definition':
        return begin('definition')
      case 'table': {
        const alignments = (node['align'] as (string | null)[]).map((value) => value ?? 'left')
        const rows = node.children!.map((row) =>
          row.children!.map((cell) => inlineText(cell, source, definitions)).join('|'),
        )
        return begin(`table(${alignments.join(' ')})`, `${rows.join('\n')}\n`)
      }
      default:
        throw new Error(node.type)
    }
  }
  walk(tree, [])
  return { outline: lines, definitions: [...definitions].map(([label, url]) => `[${label}]: <${url}>`) }
}

function collectDefinitions(node: Node, definitions: Map<string, string>): void {
  const identifier = node['identifier'] as string
  if (node.type === 'definition' && !definitions.has(identifier))
    definitions.set(identifier, node['url'] as string)
  node.children?.forEach((child) => collectDefinitions(child, definitions))
}

function inlineText(block: Node, source: string, definitions: ReadonlyMap<string, string>): string {
  const write = (node: Node, styles: readonly string[], link: string): string => {
    const inside = (more: readonly string[] = [], leadsTo = link) =>
      node.children!.map((child) => write(child, [...styles, ...more], leadsTo)).join('')
    const url = (): string =>
      (node['url'] as string | undefined) ?? definitions.get(node['identifier'] as string)!
    switch (node.type) {
      case 'text':
        return run(node['value'] as string, styles, link)
      case 'emphasis':
        return inside(['em'])
      case 'strong':
        return inside(['strong'])
      case 'delete':
        return inside(['del'])
      case 'inlineCode':
        return run(node['value'] as string, [...styles, 'code'], link)
      case 'html':
        return run(node['value'] as string, [...styles, 'html'], link)
      case 'break':
        return run('\n', styles, link)
      case 'link':
      case 'linkReference': {
        const { offset } = (node['position'] as { start: { offset: number } } | undefined)?.start ?? {}
        // GitHub makes links of bare addresses; terminals do so themselves.
        const isBare = offset === undefined || !'[<'.includes(source[offset]!)
        return inside([], isBare ? link : `link:${url()}`)
      }
      case 'image':
      case 'imageReference':
        return run(node['alt'] as string, [], `image:${url()}`)
      default:
        throw new Error(node.type)
    }
  }
  return block.children!.map((child) => write(child, [], '')).join('')
}
