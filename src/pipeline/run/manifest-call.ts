import type { ModelFamilies } from '../../contract/known-models.ts'
import type { Context } from '../../context.ts'
import type { OperationContext, Redactor } from '../../operations/operation.ts'

/** What everything that works on a manifest gets from its caller. */
export interface ManifestCall {
  readonly context: OperationContext & Pick<Context, 'processes'>
  /** For the variables that the manifest declares. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The families of model ids that are configured. */
  readonly families: ModelFamilies
  readonly redactor: Redactor
  /** The manifest as the user named it; undefined for the nearest one upwards. */
  readonly file: string | undefined
  /** Whether results come from the sandbox, and are kept apart. */
  readonly isSandbox: boolean
  /** The folder for results that were paid for but cannot be written to their target. */
  readonly rescueFolder: string | undefined
  /** The words of a command for the same manifest: `next('pick', 'hero', '2')` is `modelgate run pick hero 2`. */
  next(...words: string[]): readonly string[]
  /** What makes such a command generate where it would not by itself: `--generate` in CI. */
  readonly generating: readonly string[]
}
