import { ContractError, UsageError } from '../../errors.ts'
import { pathSegment } from '../url.ts'

/**
 * The path that asks for an operation: its name below `/v1beta`, the slashes kept, each segment checked and encoded.
 * The name is never used as an address (fault F10).
 * @throws UsageError `bad_operation_name`
 */
export function operationPath(name: string): string {
  const segments = name.split('/')
  const isAddress = /[\\?#]|:\/\//.test(name) || (segments.length > 1 && isHost(segments[0]!))
  if (isAddress || segments.includes('')) {
    throw new UsageError(`${JSON.stringify(name.slice(0, 200))} is not the name of an operation.`, {
      code: 'bad_operation_name',
    })
  }
  return `/v1beta/${segments.map((segment) => pathSegment(segment, 'a part of the name of an operation')).join('/')}`
}

/**
 * The same check for a name that the gateway sent.
 * @throws ContractError `bad_operation_name`
 */
export function checkOperationName(name: string): void {
  try {
    operationPath(name)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new ContractError('bad_operation_name', `The gateway named an operation so: ${error.message}`, {
      cause: error,
    })
  }
}

/** The model that stands in a name such as `models/<model>/operations/<id>`. */
export function modelInName(name: string): string | null {
  return /(?:^|\/)models\/([^/]+)\//.exec(name)?.[1] ?? null
}

/** A host, perhaps with a port or a user name: no collection of resources is called so. */
function isHost(segment: string): boolean {
  return /[:@.[\]]/.test(segment)
}
