import { exitCodes } from '../../errors.ts'
import { formatExamples } from '../shared/examples.ts'
import { wrap } from '../shared/help-layout.ts'

/** `modelgate help exit-codes`: the table of src/errors.ts. */
export function exitCodesTopic(columns: number): string {
  const below = ' '.repeat(7)
  const rows = Object.values(exitCodes).map(({ code, meaning, advice }) => {
    const line = wrap(`  ${String(code).padStart(3)}  ${meaning}`, columns, below)
    return advice === '' ? line : `${line}\n${wrap(`${below}-> ${advice}`, columns, below)}`
  })
  const note =
    'New codes may be added: treat an unknown code as failure. An HTTP status is never an exit code.'
  return `How modelgate ends:

${rows.join('\n')}

${wrap(note, columns)}

${formatExamples([['modelgate generate -m MODEL "Hello" || echo "exit code $?"']], columns)}`
}
