import { spawnSync } from 'node:child_process'

/** Calls Git in a folder as somebody whose own settings do not count. @returns what it prints @throws Error */
export function git(folder: string, ...words: readonly string[]): string {
  const settings = { 'user.name': 'Ada', 'user.email': 'ada@example.com', 'core.autocrlf': 'false' }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { status, stdout, stderr } = spawnSync('git', [...flags, ...words], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${words.join(' ')}: ${stderr}`)
  return stdout.trim()
}

/** Commits all that is there. @returns the id of the commit */
export function commitAll(folder: string): string {
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'x')
  return git(folder, 'rev-parse', 'HEAD')
}
