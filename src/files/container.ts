/** What a container shows about whether all of it has arrived. */
export interface Integrity {
  /**
   * `whole`: the container's own end has arrived. `unknown`: the container does not say where it ends. `unchecked`: the
   * format is not known, or one that nothing here can follow. `short`: the container announces more than has arrived.
   * `damaged`: more bytes would not make it right.
   */
  readonly state: 'whole' | 'unknown' | 'unchecked' | 'short' | 'damaged'
  /** What is wrong, as the end of a sentence; undefined when nothing is. */
  readonly damage?: string
}

/** Follows a container through its bytes, wherever they are cut into pieces. */
export interface ContainerReader {
  add(bytes: Uint8Array): void
  /** Of what has arrived so far; more may be added afterwards. */
  integrity(): Integrity
}

/** What a container says about its video; null where it does not. */
export interface VideoShape {
  /** In pixels, as the video is stored. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** Follows a video, and reads its description on the way. */
export interface VideoReader extends ContainerReader {
  shape(): VideoShape
}

export const whole: Integrity = { state: 'whole' }
export const unknownEnd: Integrity = { state: 'unknown' }
export const short = (damage: string): Integrity => ({ state: 'short', damage })
export const damaged = (damage: string): Integrity => ({ state: 'damaged', damage })

export const endsEarly = 'its data ends too early'
export const impossibleSizes = 'its structure has impossible sizes'

/** A container that nothing here can follow. */
export function uncheckedContainer(): ContainerReader {
  return { add() {}, integrity: () => ({ state: 'unchecked' }) }
}
