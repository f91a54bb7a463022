import { UsageError } from '../../../errors.ts'
import {
  fetchImage,
  imageAtAddress,
  type ImageSource,
  type SourceInput,
} from '../../../operations/image-sources.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { openGateway } from '../gateway/open-gateway.ts'
import type { Draft } from './build-request.ts'

/** A dry run fetches nothing. */
export async function fetchSource(
  { settings, ...draft }: Draft<CommonOptions & { allowPrivateUrls?: true }>,
  input: SourceInput,
  url: string,
): Promise<ImageSource> {
  const { options } = draft
  if (settings === undefined) {
    throw new UsageError(`${input.name}: a URL cannot be fetched before the configuration is right.`)
  }
  if (isDryRun(options) && !/^data:/i.test(url)) return imageAtAddress(input, url)
  const { gateway, close } = await openGateway({ ...draft, settings })
  try {
    return await fetchImage(gateway, input, url, options.allowPrivateUrls === true)
  } finally {
    await close()
  }
}
