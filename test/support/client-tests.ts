import { readdirSync, readFileSync } from 'node:fs'
import { projectRoot } from './generated-files.ts'

const folder = new URL('test/sandbox/clients/', projectRoot)

/**
 * The titles of the tests of a client: those in its files, and in files of several clients those in its own `describe` or
 * in one for all. Rows of a table count with the title that they make.
 * @param files how the names of its files begin
 */
export function titlesOfClient(client: string, files: RegExp): readonly string[] {
  const sources = readdirSync(folder)
    .filter((name) => files.test(name))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  return sources.flatMap((source) =>
    source
      .split(/^(?=describe)/m)
      .filter((part) => !part.startsWith("describe('") || part.startsWith(`describe('${client}'`))
      .flatMap(titlesIn),
  )
}

function titlesIn(source: string): readonly string[] {
  return source.split(/^(?= *test[.(])/m).flatMap((block) => {
    const plain = /^ *test\(\s*'([^']+)'/.exec(block)?.[1]
    if (plain !== undefined) return [plain]
    const each = /^(?<indent> *)test\.(?:each|for)(?<rows>.*?)\)\(\s*'(?<title>[^']+)'/s.exec(block)?.groups
    if (each === undefined) return []
    const { indent, rows, title } = each as Record<'indent' | 'rows' | 'title', string>
    if (!title.startsWith('%s')) return [title.replace(' (%s)', '')]
    const names = rows.matchAll(new RegExp(`^${indent}  \\[\\s*'([^']+)'`, 'gm'))
    return [...names].map(([, name]) => title.replace('%s', name!))
  })
}
