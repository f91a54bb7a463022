/** A change of Stryker that tests need not notice. */
export interface Survivor {
  readonly file: string
  /** The text that is replaced. */
  readonly before: string
  /** What replaces it; any replacement when it is left out. */
  readonly after?: string
  /** Why nothing that matters changes. */
  readonly reason: string
}

export const survivors: readonly Survivor[] = []
