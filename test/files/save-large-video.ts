import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What a process of its own tells that has saved a video of so many MiB; `memory` in MiB. */
export async function saveLargeVideo(
  mebibytes: number,
): Promise<{ readonly bytes: number; readonly seconds: number; readonly memory: number }> {
  const script = join(import.meta.dirname, 'large-video-child.ts')
  const args = [script, join(temporaryFolder(), 'large.mp4'), String(mebibytes)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as { bytes: number; seconds: number; memory: number }
}
