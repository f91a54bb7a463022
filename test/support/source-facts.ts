import { parseAst } from 'rolldown/parseAst'

/** What a source file takes from outside itself. */
export interface SourceFacts {
  /** Every module it names: imports, re-exports, `import()`, `require()` and types alike. */
  readonly imports: readonly string[]
  /** Every name it uses that might be a global, with the member where one follows: `Date.now`. */
  readonly names: readonly string[]
}

interface SyntaxNode {
  readonly type: string
  readonly [key: string]: unknown
}

const importing = new Set(
  'ImportDeclaration ExportNamedDeclaration ExportAllDeclaration ImportExpression TSImportType'.split(' '),
)

/** Reads a TypeScript or JavaScript file; comments and strings do not count. */
export function sourceFacts(text: string, language: 'ts' | 'js' = 'ts'): SourceFacts {
  const imports: string[] = []
  const names: string[] = []
  visit(parseAst(text, { lang: language }) as unknown as SyntaxNode, (node) => {
    if (importing.has(node.type)) {
      const { value } = (node['source'] ?? {}) as { value?: unknown }
      if (typeof value === 'string') imports.push(value)
    } else if (node.type === 'CallExpression' && isRequire(node)) {
      const [first] = node['arguments'] as { value?: unknown }[]
      if (typeof first?.value === 'string') imports.push(first.value)
    } else if (node.type === 'Identifier') {
      names.push(node['name'] as string)
    } else if (node.type === 'MemberExpression' && node['computed'] === false) {
      const { object, property } = node as unknown as Record<string, { name?: string }>
      names.push(`${object!.name}.${property!.name}`)
    }
  })
  return { imports, names }
}

function isRequire({ callee }: SyntaxNode): boolean {
  const { type, name } = callee as { type: string; name?: string }
  return type === 'Identifier' && name === 'require'
}

function visit(node: SyntaxNode, callback: (node: SyntaxNode) => void): void {
  callback(node)
  for (const [key, child] of Object.entries(node)) {
    // `signal.process` and `{ process: 1 }` only look like the global.
    const isLabel = (key === 'property' || key === 'key') && node['computed'] !== true
    if (isLabel || node.type.endsWith('Specifier')) continue
    for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) visit(each, callback)
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string'
}
