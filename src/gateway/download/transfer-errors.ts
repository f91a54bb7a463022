import { ContractError, ModelgateError } from '../../errors.ts'

/** A part came that was not asked for. */
export class RangeMismatch extends Error {
  override readonly name = 'RangeMismatch'
}

/** What came is not the content, or not all of it, although the reply ended in order. */
export class NotWhole extends Error {
  override readonly name = 'NotWhole'
  /** What it means when it stays so. */
  readonly error: ModelgateError
  /** It will stay so. */
  readonly isSettled: boolean

  constructor(error: ModelgateError, isSettled = false) {
    super(error.message)
    this.error = error
    this.isSettled = isSettled
  }
}

/** What comes is not what came before. */
export class ContentChanged extends Error {
  override readonly name = 'ContentChanged'
}

/** The connection ended before its content did. @param damage what that left, as the end of a sentence */
export function brokenOff(damage = 'less came than before'): ModelgateError {
  return new ModelgateError(
    'later',
    'download_cut',
    `The connection was closed before all of the content had come: ${damage}.`,
    { phase: 'result', billed: 'no', hint: 'Run it again later.' },
  )
}

export function downloadTooLarge(maxBytes: number): ContractError {
  return new ContractError('download_too_large', `The URL serves more than ${maxBytes} bytes.`, {
    billed: 'no',
  })
}

export function emptyDownload(): ContractError {
  return new ContractError('empty_download', 'The URL serves an empty file.', { billed: 'no' })
}

export function contentChanged(): ModelgateError {
  return new ModelgateError('later', 'download_changed', 'What the URL serves changed during the download.', {
    phase: 'result',
    billed: 'no',
    hint: 'Run it again.',
  })
}
