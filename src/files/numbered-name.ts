import { basename, extname } from 'node:path'
import { cutBytes } from './file-name.ts'

/** The longest name that file systems take, in bytes. */
const longestName = 255

/** `hero.png` becomes `hero-2.png`; a name that would get too long is cut before the number. */
export function numberedName(name: string, number: number | string): string {
  const extension = extname(name)
  const ending = `-${number}${extension}`
  const stem = name.slice(0, name.length - extension.length)
  return cutBytes(stem, longestName - Buffer.byteLength(ending)) + ending
}

/** The same for a path, whose folder stays as it is written. */
export function numberedPath(path: string, number: number | string): string {
  const name = basename(path)
  const at = path.lastIndexOf(name)
  return path.slice(0, at) + numberedName(name, number)
}
