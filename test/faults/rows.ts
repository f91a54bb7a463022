import type { FaultRow } from './row.ts'
import { beforeTheHeaders } from './rows/before-the-headers.ts'
import { bodies } from './rows/bodies.ts'
import { connecting } from './rows/connecting.ts'
import { localSide } from './rows/local-side.ts'
import { results } from './rows/results.ts'
import { statuses } from './rows/statuses.ts'
import { streams } from './rows/streams.ts'

/** All rows, in the order of docs/faults.md. */
export const faultRows: readonly FaultRow[] = [
  ...connecting,
  ...beforeTheHeaders,
  ...statuses,
  ...bodies,
  ...streams,
  ...results,
  ...localSide,
]
