import { expect, test } from 'vitest'
import { readImageInfo } from '../../../src/files/image-info.ts'
import { create } from '../../support/image-calls.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'

test.for([
  ['png', 'auto', false],
  ['jpeg', 'auto', false],
  ['webp', 'transparent', true],
] as const)(
  'a flat %s with background %s has the size, the type and the alpha that were asked for',
  async ([format, background, hasAlpha]) => {
    const sandbox = await runningSandbox({ media: 'flat' })
    const order = {
      model: 'image-model-a',
      prompt: 'a hill',
      size: '1536x1024',
      output_format: format,
      background,
    }
    const { json } = await create(sandbox, order)
    const info = readImageInfo(Buffer.from(json.data[0].b64_json, 'base64'))
    expect(info).toMatchObject({ format, width: 1536, height: 1024 })
    expect(json.background).toBe(hasAlpha ? 'transparent' : 'opaque')
  },
)
