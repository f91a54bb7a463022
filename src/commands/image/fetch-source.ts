import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { sourceLimits } from '../../contract/image-files.ts'
import { UsageError } from '../../errors.ts'
import { download } from '../../gateway/download.ts'
import { openGateway } from '../shared/open-gateway.ts'
import type { ImageOptions } from './image-options.ts'

/** A source picture by URL is held in memory until it is sent; no family takes a larger one. */
const maxFetchedBytes = sourceLimits['image-model-a'].below

/** Fetches a source picture by its URL, under the same rules as result URLs: no key to another origin, no private address. */
export async function fetchSource(
  context: Context,
  options: ImageOptions,
  settings: Settings | undefined,
  url: string,
): Promise<Uint8Array> {
  if (settings === undefined)
    throw new UsageError(`${url} cannot be fetched before the configuration is right.`)
  const { gateway, close } = await openGateway(context, options, settings, false, () => undefined)
  const chunks: Uint8Array[] = []
  try {
    await download(
      gateway,
      url,
      {
        write: async (bytes) => void chunks.push(Buffer.from(bytes)),
      },
      { maxBytes: maxFetchedBytes, allowPrivate: options.allowPrivateUrls === true },
    )
    return Buffer.concat(chunks)
  } finally {
    await close()
  }
}
