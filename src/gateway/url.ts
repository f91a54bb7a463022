import { UsageError } from '../errors.ts'

/**
 * One segment of a path, percent-encoded.
 * `.` and `..` would change which endpoint is called (`encodeURIComponent` lets them through): refused.
 * @throws UsageError naming what the segment is (`the model`, `the video id`)
 */
export function pathSegment(text: string, what: string): string {
  if (/^((\.|%2e){1,2})?$/i.test(text) || /[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) {
    throw new UsageError(`${JSON.stringify(text)} cannot be ${what}.`, { code: 'bad_path_segment' })
  }
  return encodeURIComponent(text)
}

/** The address of an endpoint: the base URL's own path (a prefix, if any), then the endpoint's. */
export function endpointUrl(baseUrl: URL, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(baseUrl)
  url.pathname = baseUrl.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}
