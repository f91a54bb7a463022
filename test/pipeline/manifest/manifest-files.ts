import { join } from 'node:path'
import { ModelgateError } from '../../../src/errors.ts'
import type { Manifest } from '../../../src/pipeline/manifest/manifest.ts'
import { readManifest, type ManifestOptions } from '../../../src/pipeline/manifest/read-manifest.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

type Files = Readonly<Record<string, string | Uint8Array>>

/** Reads a manifest, by default in a folder of its own, with the files beside it. */
export async function read(
  manifest: string | Uint8Array,
  files: Files = {},
  { folder = temporaryFolder(), ...options }: Partial<ManifestOptions> & { readonly folder?: string } = {},
): Promise<Manifest> {
  writeFiles(folder, { ...files, 'modelgate.yaml': manifest })
  return readManifest(testContext({ cwd: folder }), join(folder, 'modelgate.yaml'), {
    isSandbox: false,
    env: {},
    families: {},
    ...options,
  })
}

/** The lines that tell what is wrong with a manifest; none when nothing is. */
export async function mistakesIn(...call: Parameters<typeof read>): Promise<string[]> {
  try {
    await read(...call)
    return []
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.exit !== 'usage') throw error
    return error.message.split('\n')
  }
}

/** A manifest with one job, `hero`, of which these are the lines. */
export function oneJob(...lines: readonly string[]): string {
  return ['version: 1', 'jobs:', '  hero:', ...lines.map((line) => `    ${line}`), ''].join('\n')
}
