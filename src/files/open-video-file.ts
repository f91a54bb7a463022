import { basename } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedVideo } from '../contract/video-event.ts'
import type { AtomicFile, WrittenFile } from './atomic-file.ts'
import { openResultFile, type Rescue } from './open-atomic-file.ts'
import { extensionOf } from './file-extension.ts'
import { numberedName } from './numbered-name.ts'
import { createVideoInspector, damagedVideo, videoMediaTypes, type VideoFormat } from './video-info.ts'

/** A video on its way into a file that appears whole or not at all. */
export interface VideoFile {
  /**
   * The bytes may be overwritten once the promise is settled.
   * @throws ContractError `not_a_video` as soon as the first bytes tell
   * @throws FileError, UsageError as `openAtomicFile` does
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Checks the video and gives the file its name. The last call.
   * @throws ContractError `empty_video`, `not_a_video`, `damaged_video`; nothing is left behind then
   * @throws FileError
   */
  done(): Promise<SavedVideo & Pick<WrittenFile, 'rescued'>>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  drop(): Promise<void>
}

export interface VideoFileOptions extends Partial<Rescue> {
  /** The path for an extension (without dot), which is known only when the first bytes have come. */
  readonly pathFor: (extension: string) => string
  /** Replace an existing file. Without it a file whose name is taken gets the next free one: `NAME-2`, `NAME-3`, … */
  readonly force: boolean
  /** Told when the video is saved under another name than planned, because somebody else had taken that. */
  readonly renamed?: (planned: string, saved: string) => void
  /**
   * Told what is wrong with a video whose container ends early or has no index; it is kept then.
   * Without this such a video is refused.
   */
  readonly damaged?: (path: string, damage: string) => void
}

/**
 * Prepares a file for a video of any size. It is created (under a temporary name in the target's folder) when the first
 * bytes show that it is one, so that an error page never becomes a file.
 */
export function openVideoFile(context: Context, options: VideoFileOptions): VideoFile {
  const inspector = createVideoInspector()
  const waiting: Uint8Array[] = []
  let file: AtomicFile | undefined
  let planned = ''

  async function open(format: VideoFormat): Promise<AtomicFile> {
    planned = options.pathFor(extensionOf(videoMediaTypes[format]))
    file = await openResultFile(context, planned, {
      ...options,
      spareName: (count) => numberedName(basename(planned), count),
    })
    for (const bytes of waiting.splice(0)) await file.write(bytes)
    return file
  }
  async function drop() {
    waiting.length = 0
    await file?.discard()
  }
  async function orDrop<Value>(step: () => Promise<Value>): Promise<Value> {
    try {
      return await step()
    } catch (error) {
      await drop()
      throw error
    }
  }
  return {
    write: (bytes) =>
      orDrop(async () => {
        const format = inspector.add(bytes)
        if (file !== undefined) return await file.write(bytes)
        waiting.push(Buffer.from(bytes))
        if (format !== undefined) await open(format)
      }),
    done: () =>
      orDrop(async () => {
        const { format, width, height, seconds, damage } = inspector.finish()
        if (damage !== undefined && options.damaged === undefined) throw damagedVideo(damage)
        const written = await (file ?? (await open(format))).commit()
        if (written.rescued === undefined && written.path !== planned)
          options.renamed?.(planned, written.path)
        if (damage !== undefined) options.damaged?.(written.path, damage)
        return { ...written, format, width, height, seconds, mime_type: videoMediaTypes[format] }
      }),
    drop,
  }
}
