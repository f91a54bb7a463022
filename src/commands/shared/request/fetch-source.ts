import {
  fetchImage,
  imageAtAddress,
  type ImageSource,
  type SourceInput,
} from '../../../operations/image-sources.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { openGateway } from '../gateway/open-gateway.ts'
import type { Draft } from './build-request.ts'

/** Nothing is fetched by a dry run, nor for a call that is refused anyway. */
export async function fetchSource(
  { settings, ...draft }: Draft<CommonOptions & { allowPrivateUrls?: true }>,
  input: SourceInput,
  url: string,
): Promise<ImageSource> {
  const { options, problems } = draft
  const isShown = isDryRun(options) && !/^data:/i.test(url)
  if (settings === undefined || problems.any || isShown) return imageAtAddress(input, url)
  const { gateway, close } = await openGateway({ ...draft, settings })
  try {
    return await fetchImage(gateway, input, url, options.allowPrivateUrls === true)
  } finally {
    await close()
  }
}
