import { hash } from 'node:crypto'
import { tryJson } from '../../json.ts'
import { createBoundedMap } from '../bounded-map.ts'

/** Stands in recordings for the origin of the sandbox, whose port differs each time. */
const recordedOrigin = 'http://sandbox.invalid'
/** Below this path, the results that were at addresses of other hosts, or at signed ones. */
const resultsPath = '/sandbox/results/'

/** A string of JSON, without the mark that ends it: it may have been cut off. No escaped mark begins one. */
const urlString = /(?<!\\)"(https?:[^"\\]*(?:\\.[^"\\]*)*)/gi

/** How many addresses are remembered: more than a gateway gives within the hour that they are valid for. */
const keptUrls = 10_000
/** A longer text has no addresses of results in it, but results. */
export const maxRewrittenBytes = 1024 * 1024

/** Gives the results of a gateway addresses at the sandbox, so that their downloads are recorded, too. */
export function createResultUrls(baseUrl: URL) {
  const urls = createBoundedMap<string>(keptUrls)
  const basePath = baseUrl.pathname.replace(/\/+$/, '')

  const recorded = (url: URL, path: string): string => {
    const isOwn = url.origin === baseUrl.origin && url.pathname.startsWith(`${basePath}/`)
    // The gateway gets the key in a header; other parameters, and those of another host, may be a signature.
    if (url.origin === baseUrl.origin) url.searchParams.delete('key')
    const isPlain = [...url.searchParams.keys()].every((name) => name === 'alt' || name === 'variant')
    if (isOwn && isPlain) return recordedOrigin + url.pathname.slice(basePath.length) + url.search
    const digest = hash('sha256', url.href).slice(0, 32)
    const name = `${/\/images\//.test(path) ? 'image' : 'video'}-${digest}`
    urls.set(name, url.href)
    return recordedOrigin + resultsPath + name
  }
  return {
    /** A JSON text with these addresses, as it is recorded. Only whole strings that are URLs are replaced. */
    rewrite: (json: string, path: string) =>
      json.replace(urlString, (whole, text: string) => {
        const value = tryJson(`"${text}"`)
        const url = typeof value === 'string' ? URL.parse(value) : null
        return url === null ? whole : JSON.stringify(recorded(url, path)).slice(0, -1)
      }),
    rewriteLocation(location: string, requested: URL, path: string) {
      const url = URL.parse(location, requested)
      return url === null || !/^https?:$/.test(url.protocol) ? '' : recorded(url, path)
    },
    /** The gateway's own address of a result; undefined if it has given none in this run. */
    find: (path: string) => urls.get(path.startsWith(resultsPath) ? path.slice(resultsPath.length) : ''),
  }
}

/** What such an address counts as in fault rules. */
export function resultEndpoint(path: string): 'image-files' | 'video-files' | undefined {
  if (!path.startsWith(resultsPath)) return undefined
  return path.startsWith(`${resultsPath}image-`) ? 'image-files' : 'video-files'
}

/** Whether replies of this path have addresses of results in them; a text may name others, which are part of it. */
export function givesResults(path: string): boolean {
  return /\/(?:images|videos|files)\/|\/videos$|\/operations\/|:predictLongRunning$/.test(path)
}

/** A recorded text with the sandbox's own address. */
export const atOrigin = (text: string, origin: string) => text.replaceAll(recordedOrigin, origin)
