import type { Fence } from './block-starts.ts'
import type { Alignment } from './table-rows.ts'

/** A block that holds others. */
export type Container =
  | { readonly kind: 'quote' }
  | {
      readonly kind: 'item'
      /** In a list of numbers: counted from the first one. */
      readonly number: number | undefined
      /** `-`, `*`, `+`, or what follows a number. */
      readonly sign: string
      readonly task: 'open' | 'done' | 'none'
    }

/** Is told the blocks of a text while it comes. Each is told before its end is known. */
export interface BlockHandler {
  open(container: Container): void
  close(): void
  blank(): void
  /** Inline text follows: of a heading with that level, or of a paragraph. */
  beginText(heading: number | undefined): void
  /** Its lines end with `\n`; without the white space at their beginning. */
  text(text: string): void
  endText(): void
  /** The paragraph above was a heading. */
  underline(level: 1 | 2): void
  /** @param fence undefined for indented code */
  beginCode(fence: Fence | undefined): void
  /** Code as it stands in the text, with its line endings. */
  code(text: string): void
  /** @param isClosed whether a fence ended it */
  endCode(isClosed: boolean): void
  beginHtml(): void
  html(text: string): void
  endHtml(): void
  rule(): void
  /** A line that defines where references lead to. */
  definition(line: string): void
  /** @param isBegun whether the first cell of the head has been told as text, which has not ended */
  beginTable(head: readonly string[], alignments: readonly Alignment[], isBegun: boolean): void
  row(cells: readonly string[]): void
  endTable(): void
}
