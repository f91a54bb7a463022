import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { expectNoCanaryBelow } from './canary-key.ts'

/** A new empty folder, by its real path, that is removed when the test ends. No key of a test may be in it then. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'modelgate-test-'))
  onTestFinished(() => {
    try {
      expectNoCanaryBelow(folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
  return folder
}

/** Writes files below a folder, with the folders they need. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
