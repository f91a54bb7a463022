import type { FaultRow } from './row.ts'
import { eventFraming } from './rows/event-framing.ts'
import { beforeTheHeaders } from './rows/before-the-headers.ts'

/** All rows, in the order of docs/faults.md. */
export const faultRows: readonly FaultRow[] = [...beforeTheHeaders, ...eventFraming]
