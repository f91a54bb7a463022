import type { Target } from './target.ts'
import { fileTargets } from './targets/files.ts'
import { nameTargets } from './targets/names.ts'
import { outputTargets } from './targets/output.ts'
import { peerTargets } from './targets/peers.ts'
import { programTargets } from './targets/program.ts'
import { replyTargets } from './targets/replies.ts'
import { streamTargets } from './targets/streams.ts'

/** Everything that is fuzzed, in the order in which `npm run fuzz` takes it. */
export const allTargets: readonly Target<unknown>[] = [
  ...streamTargets,
  ...replyTargets,
  ...outputTargets,
  ...nameTargets,
  ...fileTargets,
  ...programTargets,
  ...peerTargets,
]
