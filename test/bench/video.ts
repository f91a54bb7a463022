import { statSync } from 'node:fs'
import { join } from 'node:path'
import { largeVideoBytes } from './large-video.ts'
import type { Measurement } from './measurement.ts'
import { memory } from './memory.ts'
import { modelgate, type Workbench } from './workbench.ts'

/** A video of 2 GB that is cut off in the middle once, and begun again. */
export function measureVideo(workbench: Workbench): Measurement[] {
  const words = modelgate('wait', 'bench-video', '--force', '-o', 'large.mp4')
  const measured = memory(workbench, 'video of 2 GB, cut once, most memory', words, 150)
  const { size } = statSync(join(workbench.folder, 'large.mp4'))
  if (size !== largeVideoBytes) throw new Error(`The video has ${size} bytes, not ${largeVideoBytes}.`)
  return [measured]
}
