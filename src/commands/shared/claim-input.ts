import type { Context, Input } from '../../context.ts'
import { UsageError } from '../../errors.ts'

const claims = new WeakMap<Input, string>()

/**
 * Reserves standard input, which can be read only once, for one reader.
 * @param reader as the user wrote it: `-`, `--tools @-`, `-a -`
 * @throws UsageError `stdin_claimed` that names both readers
 */
export function claimStandardInput({ stdin }: Context, reader: string): void {
  const earlier = claims.get(stdin)
  if (earlier !== undefined) {
    throw new UsageError(`Standard input can be read only once, but ${both(earlier, reader)}.`, {
      code: 'stdin_claimed',
      hint: 'Put one of them in a file: @FILE.',
    })
  }
  claims.set(stdin, reader)
}

export function isStandardInputClaimed({ stdin }: Context): boolean {
  return claims.has(stdin)
}

function both(earlier: string, reader: string): string {
  return earlier === reader ? `${reader} is given twice` : `both ${earlier} and ${reader} want it`
}
