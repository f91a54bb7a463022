import { exitCodes, type AlreadyReported } from '../../errors.ts'
import { collectingSink } from '../../output/collecting-sink.ts'
import type { RunCommand } from '../shared/options/command-tools.ts'
import { runCommand, type Session } from './session.ts'

/** As few words as an answer can have. */
const prompt = 'Answer with one word: hello'

/** Characters of the answer that are shown. */
const shownLength = 100

export interface TestCall {
  /** Reported already; undefined when the call went well. */
  readonly failure: AlreadyReported | undefined
}

/** Makes one call with the new configuration, as it would be typed, and tells how it ended. */
export async function testCall(
  { context, gate, say, settings }: Session,
  run: RunCommand,
  model: string,
): Promise<TestCall> {
  const argv = [
    'generate',
    '--profile',
    settings.profile.value,
    '-m',
    model,
    '--no-stdin',
    '--no-input',
    prompt,
  ]
  // Standard output belongs to the report of `init`.
  const answer = collectingSink()
  await say(`$ modelgate generate -m ${model} "${prompt}"`, 'accent')
  const failure = await runCommand(run, argv, { ...context, stdout: answer.sink })
  const code = failure?.exitCode ?? 0
  const { meaning, advice } = Object.values(exitCodes).find((exit) => exit.code === code) ?? exitCodes.bug
  if (code === 0) await say(`  ${gate.line(answer.text().trim(), shownLength)}`)
  const next = advice === '' ? '' : `: ${advice}`
  await say(`  exit code ${code}: ${meaning}${next}`, code === 0 ? 'success' : 'warning')
  return { failure }
}
