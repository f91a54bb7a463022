import { join } from 'node:path'
import { build } from 'rolldown'
import { expect, test } from 'vitest'
import type { sixelPicture } from '../../../src/output/preview/protocols.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Sixel {
  readonly sixelPicture: typeof sixelPicture
}

test('sixels are drawn in a bundle too, where all code is strict', async () => {
  const folder = temporaryFolder()
  await build({
    input: join(import.meta.dirname, '../../../src/output/preview/protocols.ts'),
    platform: 'node',
    output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
    logLevel: 'silent',
  })
  const bundle = (await import(join(folder, 'protocols.mjs'))) as Sixel
  const picture = { data: new Uint8ClampedArray([255, 0, 0, 255]), width: 1, height: 1 }
  const drawn = await bundle.sixelPicture(picture, { columns: 1, rows: 1, limit: 'rows' })
  expect(drawn).toBe('\x1bP0;0;q"1;1;1;1#0;2;100;0;0#0@$\x1b\\\n')
})
