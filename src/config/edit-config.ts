import { isDeepStrictEqual } from 'node:util'
import type { Node, YAMLMap } from 'yaml'
import type { Context } from '../context.ts'
import { ConfigError } from '../errors.ts'
import { isObject, objectOf, tryJson } from '../json.ts'
import { createProblemList } from '../problems.ts'
import { normaliseBaseUrl } from './base-url.ts'
import { findUserFile, parseUserFile, userFilePath } from './config-file.ts'
import { absolutePath, fileLayer } from './layers.ts'
import { checkPlace, rewriteFile, type RewrittenFile } from './rewrite-file.ts'

/**
 * Changes settings in the user's own configuration file: the one that is read, else a new `config.yaml` for its owner
 * alone. Comments and order of the rest stay; so does the mode of the file, and a symbolic link to it. The new content
 * replaces the old one at once, and only if it can be read without any problem.
 * @throws ConfigError for a file with problems, before or after the changes; FileError when it cannot be written
 */
export async function editUserFile(context: Context, changes: readonly Change[]): Promise<RewrittenFile> {
  checkPlace(context, 'configuration')
  const path = (await findUserFile(context))?.path ?? userFilePath(context)
  const empty = path.endsWith('.json') ? '{}\n' : newUserFile
  return await rewriteFile(context, path, async (before) => {
    const text = await editedText(path, before ?? empty, changes)
    if (before === undefined && text === empty) return undefined
    await checkUserFile(context, path, text)
    return text
  })
}

const newUserFile = '# Settings of modelgate. All there are: modelgate config list --all\n'

async function editedText(path: string, before: string, changes: readonly Change[]): Promise<string> {
  const mark = before.startsWith('\uFEFF') ? '\uFEFF' : ''
  const text = before.slice(mark.length)
  // Before it is edited: a file that cannot be read is left alone.
  await parseUserFile(path, path.endsWith('.json') && text.trim() === '' ? '{}' : text)
  // JSON in a YAML file stays JSON.
  const isJson = path.endsWith('.json') || (/^\s*\{/.test(text) && tryJson(text) !== undefined)
  if (isJson) return mark + editJson(text, changes)
  const hasReturns = text.includes('\r\n') && !/(?<!\r)\n/.test(text)
  let edited = hasReturns ? text.replaceAll('\r\n', '\n') : text
  for (const change of changes) {
    const next = await editYaml(edited, change)
    if (next === undefined) {
      const setting = change.path.join('.')
      throw new ConfigError(`${path}: ${setting} cannot be changed without changing other settings.`, {
        hint: 'The file uses anchors and aliases there: change it in an editor.',
      })
    }
    edited = next
  }
  return mark + (hasReturns ? edited.replaceAll('\n', '\r\n') : edited)
}

/** A text that is right as far as that can be known without the rest of the configuration. @throws ConfigError */
async function checkUserFile(context: Context, path: string, text: string): Promise<void> {
  const file = await parseUserFile(path, text.replace(/^\uFEFF/, ''))
  // A file of comments alone has no settings.
  if (file.content === null || file.content === undefined) return
  const problems = createProblemList(20)
  const { settings, profiles } = await fileLayer(context, file, 'user', problems)
  for (const [source, own] of [['base_url', settings] as const, ...profiles]) {
    const url = own.get('baseUrl')?.value
    const allowHttp = (own.get('allowHttp') ?? settings.get('allowHttp'))?.value === true
    const name = own === settings ? source : `profiles.${source}.base_url`
    if (typeof url === 'string') await problems.check(() => normaliseBaseUrl(url, name, allowHttp))
  }
  problems.throwIfAny()
}

/** A path as the file takes it, whatever folder it was typed in: `~/` is the home directory there, too. */
export function pathToWrite(context: Context, path: string): string {
  return /^~[\\/]/.test(path) ? path : absolutePath(context, context.cwd, path)
}

export interface Change {
  /** The keys that lead to the value: `['timeout']`, `['profiles', 'work', 'base_url']`. */
  readonly path: readonly string[]
  /** JSON data; undefined removes the key. */
  readonly value: unknown
}

/**
 * Mappings on the way are created, and stay when they become empty; what is removed becomes undefined.
 * @returns the document if nothing is to change
 */
function changedData(document: unknown, { path, value }: Change): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const mapping = objectOf(document)
  const inner = Object.hasOwn(mapping, key) ? mapping[key] : undefined
  if (value === undefined && rest.length > 0 && !isObject(inner)) return document
  return { ...mapping, [key]: changedData(inner, { path: rest, value }) }
}

/** As JSON has it. */
const plain = (data: unknown): unknown => JSON.parse(JSON.stringify(data))

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

/**
 * A YAML text after a change. Comments, order and quotes of the rest stay; white space, and comments within a list that
 * is changed, may not. A comment indented under a setting belongs to it.
 * @returns undefined where a value cannot be changed without changing others (anchors and aliases)
 */
async function editYaml(text: string, change: Change): Promise<string | undefined> {
  const { isCollection, isScalar, parse, parseDocument } = await import('yaml')
  // More aliases than that, counted as they unfold, are an attack.
  const read = (source: string) => plain(parse(source, { maxAliasCount: 100 }) ?? {})
  try {
    const before = read(text)
    const expected = plain(changedData(before, change))
    if (isDeepStrictEqual(before, expected)) return text
    // Not `{}`, which would make a JSON file of it.
    if (isDeepStrictEqual(expected, {})) return text.match(/^\s*#.*\n?/gm)?.join('') ?? ''
    const document = parseDocument(text)
    const { path, value } = change
    // A key without a value gets a mapping.
    const empty = path.findIndex((_, at) => document.getIn(path.slice(0, at + 1)) == null)
    const [within, rest] = empty === -1 ? [path, []] : [path.slice(0, empty + 1), path.slice(empty + 1)]
    const nested = rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
    const old = document.getIn(path, true)
    const node = document.createNode(nested)
    if (isCollection(old) && isCollection(node) && old.flow) node.flow = true
    if (value === undefined) {
      const parent = (document.getIn(path.slice(0, -1), true) ?? document.contents) as YAMLMap<Node>
      const at = parent.items.findIndex((item) => item.value === old)
      const above = parent.items[at]?.key.commentBefore
      document.deleteIn(path)
      // The comment above stays: above the first setting it is that of the file.
      const after = parent.items[at]?.key ?? parent
      const place = after === parent ? 'comment' : 'commentBefore'
      after[place] = [above, after[place]].filter((note) => note != null).join('\n')
    } else {
      const replaced = document.getIn(within, true)
      if (isCollection(node) && isScalar(replaced)) node.comment = replaced.comment ?? null
      document.setIn(within, isCollection(node) ? node : nested)
    }
    const edited = document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] /.test(text) })
    return isDeepStrictEqual(read(edited), expected) ? edited : undefined
  } catch {
    // An alias that would lose its anchor.
    return undefined
  }
}
