import type { IncomingMessage } from 'node:http'
import type { EndpointName } from '../faults/rule.ts'
import type { FaultChooser } from '../faults/choose.ts'
import type { Ledger, RequestRecord } from '../ledger.ts'
import type { RequestContent, SandboxRequest, SandboxContext } from '../request.ts'
import type { LatencyProfile, Reply } from './reply.ts'

/** One endpoint as the exchange sees it. */
export interface Handler {
  readonly endpoint: EndpointName
  /** The model in the path, where it is there and not in the body. */
  readonly model?: string
  /** Anyone who knows the address is answered, also without a key. */
  readonly needsNoKey?: true
  /** Reads a body that is not JSON. */
  readContent?(incoming: IncomingMessage): Promise<RequestContent>
  answer(request: SandboxRequest): Reply | Promise<Reply>
}

/** What all exchanges of a sandbox share. */
export interface Exchanges extends SandboxContext {
  readonly latency: LatencyProfile
  readonly faults: FaultChooser
  readonly ledger: Ledger
  /** Aborted when the sandbox closes. */
  readonly signal: AbortSignal
  readonly onRequest: ((record: RequestRecord) => void) | undefined
  nextNumber(): number
}
