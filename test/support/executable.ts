import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** What the build makes an executable of. */
const sources = ['src', 'build', 'package-lock.json']

/**
 * The single executable: the one that `MODELGATE_EXECUTABLE` names, or else that of the last build. It is built first
 * unless it is newer than the source, which takes half a minute.
 */
export function singleExecutable(): string {
  const given = process.env['MODELGATE_EXECUTABLE']
  if (given !== undefined) return given
  const path = join(root, 'dist-executable', process.platform === 'win32' ? 'modelgate.exe' : 'modelgate')
  const newest = Math.max(...sources.flatMap((name) => timesBelow(join(root, name))))
  const built = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built < newest) {
    const { NODE_OPTIONS: _, ...env } = process.env
    execFileSync(process.execPath, [join(root, 'build/executable.ts')], { env, stdio: 'inherit' })
  }
  return path
}

/** When a file, or any file of a folder, was last written. */
function timesBelow(path: string): number[] {
  if (!statSync(path).isDirectory()) return [statSync(path).mtimeMs]
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return names.map((name) => statSync(join(path, name)).mtimeMs)
}
