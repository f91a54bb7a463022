import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** Files in which a test has a key on purpose: by the end of their path, with the reason. */
const keyFiles: readonly (readonly [RegExp, string])[] = [
  [/\/credentials\.json$/, 'what `auth login` and `init` store'],
  [/\/key(?:\.txt)?$/, 'what a user keeps a key in, for --api-key-file'],
]

/** The ways in which a program may have written the letters and digits. */
function formsOf(canary: string): readonly (readonly [name: string, form: Buffer])[] {
  const hex = Buffer.from(canary).toString('hex')
  const forms = {
    'as it is': canary,
    reversed: [...canary].reverse().join(''),
    hexadecimal: hex,
    HEXADECIMAL: hex.toUpperCase(),
  }
  // What stands before it decides how its base64 looks; without the groups of four that it shares with others.
  const base64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(canary)])
    const whole = Math.floor(bytes.length / 3) * 4
    return [`base64 at offset ${offset}`, Buffer.from(bytes.toString('base64').slice(4, whole))] as const
  })
  const utf16 = Buffer.from(canary, 'utf16le')
  return [
    ...Object.entries(forms).map(([name, form]) => [name, Buffer.from(form)] as const),
    ...base64,
    // Either order of bytes, without the zero at the edge.
    ['UTF-16', utf16.subarray(0, -1)],
  ]
}

/** The forms in which bytes hold the canary. */
export function formsIn(bytes: Buffer, canary: string): string[] {
  return formsOf(canary).flatMap(([name, form]) => (bytes.includes(form) ? [name] : []))
}

const pieceBytes = 8 * 1_048_576

/** Of a larger file the beginning and the end are read: only a film or a picture is so large. */
const largestFile = 8 * pieceBytes

function formsInFile(path: string, canary: string): string[] {
  const file = openSync(path, 'r')
  try {
    const { size } = lstatSync(path)
    const buffer = Buffer.allocUnsafe(Math.min(size, pieceBytes))
    const starts = []
    // Pieces overlap, so that none of the forms is cut.
    for (let at = 0; at < size; at += pieceBytes - 256) starts.push(at)
    const read = size > largestFile ? [...starts.slice(0, 2), ...starts.slice(-2)] : starts
    const found = read.flatMap((at) =>
      formsIn(buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at)), canary),
    )
    return [...new Set(found)]
  } finally {
    closeSync(file)
  }
}

/**
 * Where the canary is below a folder: in names, links and files, but those that a test keeps a key in.
 * @returns a line for each place, which says the form and not the canary itself
 */
export function placesBelow(folder: string, canary: string): string[] {
  const places: string[] = []
  const told = (path: string) => path.replaceAll(canary, '[canary]')
  for (const entry of entriesBelow(folder)) {
    const path = join(entry.parentPath, entry.name)
    if (formsIn(Buffer.from(entry.name), canary).length > 0) places.push(`the name of ${told(path)}`)
    try {
      if (entry.isSymbolicLink() && formsIn(Buffer.from(readlinkSync(path)), canary).length > 0)
        places.push(`the link ${told(path)}`)
      if (!entry.isFile() || keyFiles.some(([end]) => end.test(path))) continue
      places.push(...formsInFile(path, canary).map((form) => `${told(path)}, ${form}`))
    } catch (error) {
      // Removed meanwhile, by a process that the test has left to end.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return places
}

function entriesBelow(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
  } catch {
    // Gone, or being removed.
    return []
  }
}
