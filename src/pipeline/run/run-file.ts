import { join, normalize, relative } from 'node:path'
import type { RunFile } from '../../events/run-document.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'

/** A locked output as documents and events show it. @param cwd the working directory */
export function runFile(
  cwd: string,
  { outputFolder }: Project,
  { path, bytes, sha256, media_type, width, height, seconds }: OutputFacts,
): RunFile {
  return {
    path: cwd === outputFolder ? normalize(path) : relative(cwd, join(outputFolder, path)),
    bytes,
    sha256,
    mime_type: media_type,
    width,
    height,
    seconds,
  }
}
