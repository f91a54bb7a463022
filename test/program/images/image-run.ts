import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { decodeImage, type Pixels } from '../../../src/files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../../src/files/image-info.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../../support/canary-key.ts'
import { runMain, type RunResult } from '../../support/run-main.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'

/** A folder for one test, and the program run in it. */
export interface Studio {
  readonly cwd: string
  /**
   * Runs `image` with these words against the gateway of the studio, and checks what holds for all runs: no trace of
   * the key, and no temporary file left.
   */
  run(words: readonly string[], more?: TestOverrides): Promise<RunResult>
  /** Names of all files, hidden ones too, in order. */
  files(): readonly string[]
  read(name: string): Buffer
  /** What the file's own header says. */
  info(name: string): ImageInfo | undefined
  pixels(name: string): Promise<Pixels>
}

/** @param gateway a sandbox or a local server */
export function studioAt(gateway: Pick<Sandbox, 'url'>): Studio {
  const cwd = temporaryFolder()
  const key = canaryKey().replaceAll(/[^\w+/]/g, 'x')
  const files = () =>
    readdirSync(cwd, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
      .sort()
  const read = (name: string) => readFileSync(join(cwd, name))
  const info = (name: string) => readImageInfo(read(name))
  return {
    cwd,
    async run(words, { env, ...more } = {}) {
      const result = await runMain(['image', ...words], {
        cwd,
        env: { MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: key, ...env },
        ...more,
      })
      expectNoKey('standard output', result.out, key)
      expectNoKey('standard error', result.err, key)
      expectNoKeyBelow(cwd, key)
      expect(files().filter((name) => /\.(part|tmp)|(^|\/)\./.test(name))).toEqual([])
      return result
    },
    files,
    read,
    info,
    pixels: (name) => decodeImage(read(name), info(name)?.mediaType ?? ''),
  }
}

/** The quickest picture of model A. */
export const quick = ['-m', 'gpt-image-1', '--quality', 'low']
/** The quickest picture of model B, which is given by its URL. */
export const quickUrl = ['-m', 'dall-e-2', '--size', '256x256']
