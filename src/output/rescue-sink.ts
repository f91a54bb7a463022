import type { Context, Sink } from '../context.ts'
import { FileError, type ModelgateError } from '../errors.ts'
import type { AtomicFile } from '../files/atomic-file.ts'

export interface RescuePlace {
  readonly folder: string | undefined
  readonly name: string
}

/**
 * What standard output does not take (a full disk) is saved in the rescue folder: it has been paid for. Keeps only
 * what may not have been written yet.
 */
export function openRescueSink(context: Context, { folder, name }: RescuePlace) {
  const { stdout } = context
  /** Given to standard output, which may still fail; or waits for the file. */
  let held: (string | Uint8Array)[] = []
  let failure: FileError | undefined
  let file: AtomicFile | undefined

  const own = {
    get needsDrain() {
      return file !== undefined || stdout.needsDrain
    },
    write(chunk: string | Uint8Array): void {
      if (stdout.isIdle) held = []
      held.push(chunk)
      if (file === undefined) stdout.write(chunk)
    },
    /** @throws OutputClosed; FileError when the rescue fails as well, or has ended */
    async drain(): Promise<void> {
      if (file === undefined) {
        try {
          await stdout.drain()
          if (stdout.isIdle) held = []
          return
        } catch (error) {
          if (!(error instanceof FileError) || failure !== undefined) throw error
          failure = error
          const { openRescueFile } = await import('../files/atomic-file.ts')
          file = await openRescueFile(context, folder, name, error)
        }
      }
      for (const chunk of held.splice(0)) await file.write(chunk)
    },
    /** @returns what names the file, when anything was rescued @throws FileError when it cannot be completed */
    async end(): Promise<ModelgateError | undefined> {
      if (file === undefined) return undefined
      await this.drain()
      const { path, rescued } = await file.commit()
      file = undefined
      return rescued?.amend({
        message: `${failure!.message} What was not written is kept in ${rescued.facts.rescued?.[0] ?? path}.`,
      })
    },
  }
  // All else is that of standard output.
  return Object.setPrototypeOf(own, stdout) as typeof own & Sink
}
