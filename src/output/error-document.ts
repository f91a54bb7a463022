import type { ModelgateError } from '../errors.ts'
import type { ErrorDocument } from '../contract/output-event.ts'
import { billedOf } from './error-text.ts'

/** The error as `--json` and `--jsonl` print it. */
export function errorDocument(error: ModelgateError): ErrorDocument {
  const { facts } = error
  return {
    error: {
      code: error.code,
      exit_code: error.exitCode,
      phase: facts.phase ?? null,
      http_status: facts.httpStatus ?? null,
      request_id: facts.requestId ?? null,
      retry_after_s: facts.retryAfterS ?? null,
      billed: billedOf(error),
      message: error.message,
      hint: facts.hint ?? null,
      remote_id: facts.remoteId ?? null,
      rescued: facts.rescued ?? [],
    },
  }
}
