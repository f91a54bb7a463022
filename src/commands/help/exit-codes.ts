import { exitCodes } from '../../errors.ts'

/** `modelgate help exit-codes`: the table of src/errors.ts. */
export function exitCodesTopic(): string {
  const rows = Object.values(exitCodes).map(({ code, meaning, advice }) => {
    const then = advice === '' ? '' : `\n       -> ${advice}`
    return `  ${String(code).padStart(3)}  ${meaning}${then}`
  })
  return `How modelgate ends:

${rows.join('\n')}

New codes may be added: treat an unknown code as failure. An HTTP status is never an exit code.
`
}
