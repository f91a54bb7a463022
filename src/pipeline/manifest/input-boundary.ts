import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/**
 * Finds out whether an input may be read: the manifest of a cloned repository must not be able to send the files of whoever
 * runs it. Inputs lie in the repository that holds the manifest, or in the manifest's folder where there is none, and stay
 * there when links are followed.
 * @param folder the manifest's, absolute
 * @returns says of a path, relative to the folder, why it may not be read: a sentence; nothing for one that may, or that
 * leads to no file
 */
export function createInputBoundary(folder: string): (path: string) => string | undefined {
  const repository = repositoryOf(folder)
  const root = repository ?? folder
  const realRoot = realPath(root) ?? root
  const known = new Map<string, string | undefined>()
  const place = repository === undefined ? "the manifest's folder" : "the manifest's repository"
  const problemOf = (path: string) => {
    const shown = JSON.stringify(path)
    const absolute = resolve(folder, path)
    const lies = relationOf(root, absolute)
    if (lies === 'outside') return `${shown} is outside of ${place}: a manifest can only use files inside it.`
    const real = realPath(absolute)
    const leads = real === undefined ? lies : relationOf(realRoot, real)
    if (leads === 'outside') {
      return `${shown} is a link out of ${place}: a manifest can only use files inside it.`
    }
    // It may hold credentials.
    return leads === 'git' ? `${shown} is in .git, which no manifest can use.` : undefined
  }
  return (path) => {
    if (!known.has(path)) known.set(path, problemOf(path))
    return known.get(path)
  }
}

/** The nearest folder with `.git`, which is a file in a worktree or a submodule; from the given one upwards. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return undefined
  }
}

function relationOf(root: string, path: string): 'inside' | 'outside' | 'git' {
  const way = relative(root, path)
  const names = way.split(sep)
  if (names[0] === '..' || isAbsolute(way)) return 'outside'
  return names.some((name) => name.toLowerCase() === '.git') ? 'git' : 'inside'
}

/** In this thread, because it is asked of each of many files. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
