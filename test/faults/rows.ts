import type { FaultRow } from './row.ts'
import { mediaContents } from './rows/media-contents.ts'
import { streamTimes } from './rows/stream-times.ts'
import { longJobs } from './rows/long-jobs.ts'
import { downloads } from './rows/downloads.ts'
import { eventFraming } from './rows/event-framing.ts'
import { beforeTheHeaders } from './rows/before-the-headers.ts'
import { streamContents } from './rows/stream-contents.ts'
import { localSide } from './rows/local-side.ts'

/** All rows, in the order of docs/faults.md. */
export const faultRows: readonly FaultRow[] = [
  ...beforeTheHeaders,
  ...eventFraming,
  ...streamContents,
  ...streamTimes,
  ...mediaContents,
  ...longJobs,
  ...downloads,
  ...localSide,
]
