// Reads a prompt from the real standard input: node read-prompt-child.ts PROMPT TIMEOUT. Prints {prompt} or {code}.
// It must end by itself, also while the other side keeps the pipe open.
import process from 'node:process'
import { readPrompt } from '../../../src/commands/shared/input/standard-input.ts'
import { systemContext } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'

const [argument, stdinTimeout] = process.argv.slice(2)
const context = systemContext()
let result: object
try {
  const prompt = await readPrompt(context, {
    argument: argument === '' ? undefined : argument,
    noStdin: false,
    joins: true,
    stdinTimeout: Number(stdinTimeout),
    notice: (line) => context.stderr.write(`${line}\n`),
  })
  result = { prompt }
} catch (error) {
  result = { code: error instanceof ModelgateError ? error.code : `a bug: ${error}` }
}
context.stdout.write(JSON.stringify(result))
