import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { imageKind } from '../../src/files/image-info.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { videoKind } from '../../src/files/video-info.ts'
import { noisyPng } from '../support/image-bytes.ts'
import { testContext } from '../support/test-context.ts'
import { mp4Bytes } from '../support/video-bytes.ts'

/** Files that are saved one after the other as a command does; the second replaces an older one. */
export interface SavedMedia {
  readonly names: readonly string[]
  readonly content: Buffer
  save(folder: string): Promise<void>
}

const older = 'an older file'

function savedMedia(
  kind: typeof imageKind | typeof videoKind,
  names: readonly string[],
  content: Buffer,
): SavedMedia {
  return {
    names,
    content,
    async save(folder) {
      for (const [index, name] of names.entries()) {
        const pathFor = () => join(folder, name)
        const file = openMediaFile(testContext(), kind, { pathFor, force: index === 1 })
        for (let at = 0; at < content.length; at += 2000) await file.write(content.subarray(at, at + 2000))
        await file.commit()
      }
    },
  }
}

export const mediaToSave = {
  images: savedMedia(imageKind, ['hero-1.png', 'hero-2.png', 'hero-3.png'], noisyPng(32, 32)),
  videos: savedMedia(videoKind, ['clip-1.mp4', 'clip-2.mp4'], mp4Bytes({}, Buffer.alloc(9000, 5))),
} as const

/** A new folder that holds the older file. */
export async function folderWithOlder({ names }: SavedMedia, folder: string): Promise<string> {
  await mkdir(folder)
  await writeFile(join(folder, names[1]!), older)
  return folder
}

export async function filesIn(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const names = await readdir(folder)
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
}

/** What a folder holds in which the saving has ended too early. */
export interface Remains {
  /** How many files are whole under their names. */
  readonly whole: number
  /** Names of files that are neither whole nor the older one. */
  readonly broken: readonly string[]
  /** Names of the temporary files. */
  readonly temporary: readonly string[]
}

export async function remainsIn(folder: string, { names, content }: SavedMedia): Promise<Remains> {
  const files = [...(await filesIn(folder))]
  const temporary = files.map(([name]) => name).filter((name) => name.endsWith('.mgpart'))
  const named = files.filter(([name]) => !temporary.includes(name))
  const isOlder = (name: string, bytes: Buffer) => name === names[1] && bytes.toString() === older
  return {
    whole: named.filter(([, bytes]) => bytes.equals(content)).length,
    broken: named
      .filter(([name, bytes]) => !bytes.equals(content) && !isOlder(name, bytes))
      .map(([name]) => name),
    temporary,
  }
}
