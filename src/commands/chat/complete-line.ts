import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../../context.ts'
import { chatCommands, openMention } from './message.ts'

/** The path that a user means: `~` is the home directory. */
export function attachedPath({ home }: Pick<Context, 'home'>, path: string): string {
  return /^~(?=\/|$)/.test(path) ? join(home, path.slice(1)) : path
}

/** Whether there is such a file, or folder. */
export function isFileIn(context: Context): (path: string) => Promise<boolean> {
  return (path) =>
    stat(resolve(context.cwd, attachedPath(context, path))).then(
      () => true,
      () => false,
    )
}

type Completion = readonly [found: string[], replaced: string]

/** Completes commands, models and paths. @param models asks for them, once it is needed */
export function createCompleter(
  context: Context,
  models: () => Promise<readonly string[]>,
): (line: string) => Promise<Completion> {
  return async (line) => {
    const [, command, rest] = /^\/(\w*)(?: +(.*))?$/.exec(line) ?? []
    if (command !== undefined && rest === undefined) {
      const names = Object.keys(chatCommands).filter((name) => name.startsWith(command))
      return [names.map((name) => `/${name} `), line]
    }
    if (command === 'model') return [(await models()).filter((id) => id.startsWith(rest!)), rest!]
    if (command === 'save') return [await pathsFor(context, rest!), rest!]
    const mention = openMention(line)
    if (mention === undefined) return [[], line]
    const { sign, path } = mention
    const found = await pathsFor(context, path)
    const quoted = found.map((one) => (sign === '@"' || one.includes(' ') ? `@"${one}` : `@${one}`))
    return [quoted.map((one) => closed(one)), `${sign}${path}`]
  }
}

/** A path in quotes ends with one, unless it is a folder, which goes on. */
function closed(mention: string): string {
  if (mention.endsWith('/')) return mention
  return mention.startsWith('@"') ? `${mention}" ` : `${mention} `
}

const maxFound = 200

async function pathsFor(context: Context, path: string): Promise<string[]> {
  const isFolder = path === '' || path.endsWith('/')
  const folder = isFolder ? path : dirname(path)
  const start = isFolder ? '' : basename(path)
  const before = path.slice(0, path.length - start.length)
  const entries = await readdir(resolve(context.cwd, attachedPath(context, folder || '.')), {
    withFileTypes: true,
  }).catch(() => [])
  return entries
    .filter(({ name }) => name.startsWith(start) && (start.startsWith('.') || !name.startsWith('.')))
    .slice(0, maxFound)
    .map((entry) => `${before}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .toSorted()
}
