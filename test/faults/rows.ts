import type { FaultRow } from './row.ts'
import { mediaContents } from './rows/media-contents.ts'
import { streamTimes } from './rows/stream-times.ts'
import { longJobs } from './rows/long-jobs.ts'
import { downloads } from './rows/downloads.ts'
import { eventFraming } from './rows/event-framing.ts'
import { beforeTheHeaders } from './rows/before-the-headers.ts'
import { streamContents } from './rows/stream-contents.ts'
import { localSide } from './rows/local-side.ts'
import { connecting } from './rows/connecting.ts'
import { settingsAndFiles } from './rows/settings-and-files.ts'
import { tlsAndProxies } from './rows/tls-and-proxies.ts'
import { noHttp } from './rows/no-http.ts'
import { statuses } from './rows/statuses.ts'
import { redirectsAndWaits } from './rows/redirects-and-waits.ts'
import { errorBodies } from './rows/error-bodies.ts'
import { contentTypes } from './rows/content-types.ts'
import { framing } from './rows/framing.ts'

/** All rows, in the order of docs/faults.md. */
export const faultRows: readonly FaultRow[] = [
  ...connecting,
  ...tlsAndProxies,
  ...settingsAndFiles,

  ...beforeTheHeaders,
  ...noHttp,
  ...statuses,
  ...redirectsAndWaits,
  ...errorBodies,
  ...contentTypes,
  ...framing,
  ...eventFraming,
  ...streamContents,
  ...streamTimes,
  ...mediaContents,
  ...longJobs,
  ...downloads,
  ...localSide,
]
