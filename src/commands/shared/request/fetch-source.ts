import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import {
  fetchImage,
  imageAtAddress,
  type ImageSource,
  type SourceInput,
} from '../../../operations/image-sources.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { openGateway } from '../gateway/open-gateway.ts'

/** A dry run fetches nothing. @param settings undefined if they could not be read */
export async function fetchSource(
  context: Context,
  options: CommonOptions & { allowPrivateUrls?: true },
  settings: Settings | undefined,
  input: SourceInput,
  url: string,
): Promise<ImageSource> {
  if (settings === undefined) {
    throw new UsageError(`${input.name}: a URL cannot be fetched before the configuration is right.`)
  }
  if (isDryRun(options) && !/^data:/i.test(url)) return imageAtAddress(input, url)
  const { gateway, close } = await openGateway(context, options, settings, false, () => undefined)
  try {
    return await fetchImage(gateway, input, url, options.allowPrivateUrls === true)
  } finally {
    await close()
  }
}
