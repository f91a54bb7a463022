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
export class RescueSink implements Sink {
  readonly #context: Context
  readonly #place: RescuePlace
  /** Given to standard output, which may still fail; or waits for the file. */
  #held: (string | Uint8Array)[] = []
  #failure: FileError | undefined
  #file: AtomicFile | undefined

  constructor(context: Context, place: RescuePlace) {
    this.#context = context
    this.#place = place
  }

  get isTerminal(): boolean {
    return this.#context.stdout.isTerminal
  }
  get columns(): number {
    return this.#context.stdout.columns
  }
  get isClosed(): boolean {
    return this.#context.stdout.isClosed
  }
  get isIdle(): boolean {
    return this.#context.stdout.isIdle
  }
  get stream(): Sink['stream'] {
    return this.#context.stdout.stream
  }
  get needsDrain(): boolean {
    return this.#file !== undefined || this.#context.stdout.needsDrain
  }

  write(chunk: string | Uint8Array): void {
    const { stdout } = this.#context
    if (stdout.isIdle) this.#held = []
    this.#held.push(chunk)
    if (this.#file === undefined) stdout.write(chunk)
  }

  /** @throws OutputClosed; FileError when the rescue fails as well, or has ended */
  async drain(): Promise<void> {
    if (this.#file === undefined) {
      try {
        await this.#context.stdout.drain()
        if (this.isIdle) this.#held = []
        return
      } catch (error) {
        if (!(error instanceof FileError) || this.#failure !== undefined) throw error
        this.#failure = error
        const { openRescueFile } = await import('../files/atomic-file.ts')
        this.#file = await openRescueFile(this.#context, this.#place.folder, this.#place.name, error)
      }
    }
    for (const chunk of this.#held.splice(0)) await this.#file.write(chunk)
  }

  /** @returns what names the file, when anything was rescued @throws FileError when it cannot be completed */
  async end(): Promise<ModelgateError | undefined> {
    if (this.#file === undefined) return undefined
    await this.drain()
    const { path, rescued } = await this.#file.commit()
    this.#file = undefined
    return rescued?.amend({
      message: `${this.#failure!.message} What was not written is kept in ${rescued.facts.rescued?.[0] ?? path}.`,
    })
  }
}
