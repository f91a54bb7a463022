import { basename, extname } from 'node:path'
import { cutBytes } from './file-name.ts'

/** The longest name that file systems take, in bytes. */
const longestName = 255

/** `hero.png` becomes `hero-2.png`; a name that would get too long is cut before the number. */
export function numberedName(name: string, number: number): string {
  const extension = extname(name)
  const ending = `-${number}${extension}`
  const stem = name.slice(0, name.length - extension.length)
  return cutBytes(stem, longestName - Buffer.byteLength(ending)) + ending
}

/** `hero.png` becomes `hero.damaged.png`: what came of it is not whole. A name that would get too long is cut. */
export function damagedName(name: string): string {
  const ending = `.damaged${extname(name)}`
  const stem = name.slice(0, name.length - extname(name).length)
  return cutBytes(stem, longestName - Buffer.byteLength(ending)) + ending
}

/** As `numberedName`, for a path, whose folder stays as it is written. */
export function numberedPath(path: string, number: number): string {
  const name = basename(path)
  return path.slice(0, path.lastIndexOf(name)) + numberedName(name, number)
}

/** `out/hero.png` becomes `out/hero-partial-0.png`. Never cut: the end of the name may be what tells images apart. */
export function partialPath(path: string, partial: number): string {
  const extension = extname(path)
  return `${path.slice(0, path.length - extension.length)}-partial-${partial}${extension}`
}
