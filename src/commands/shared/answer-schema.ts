import type { ValidateFunction } from 'ajv/dist/2020.js'
import { ModelgateError, UsageError } from '../../errors.ts'

/** Checks an answer against the schema of `--schema`. */
export interface AnswerCheck {
  /** @throws ModelgateError (exit 14) that lists where the answer differs */
  check(text: string): void
}

/**
 * Compiles the schema of `--schema` with a standard JSON Schema validator, before anything is sent.
 * @throws UsageError when it is no valid JSON Schema
 */
export async function compileAnswerSchema(schema: unknown): Promise<AnswerCheck> {
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  let validate: ValidateFunction
  try {
    // Unknown keywords and formats are the model's business; what is known is enforced.
    validate = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(
      schema as object,
    )
  } catch (cause) {
    throw new UsageError(`--schema is not a valid JSON Schema: ${(cause as Error).message}.`, {
      code: 'bad_schema',
      cause,
    })
  }
  return {
    check(text) {
      const value = parseAnswer(text)
      if (validate(value)) return
      const places = (validate.errors ?? [])
        .slice(0, 10)
        .map(({ instancePath, message }) => `${instancePath || '(root)'} ${message}`)
      throw mismatch(`The answer does not match --schema: ${places.join('; ')}.`)
    },
  }
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw mismatch('The answer does not match --schema: it is not JSON.')
  }
}

function mismatch(message: string): ModelgateError {
  return new ModelgateError('schema', 'schema_mismatch', message, {
    phase: 'result',
    billed: 'yes',
    hint: 'Make the prompt or the schema clearer; the answer itself was printed.',
  })
}
