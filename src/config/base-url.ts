import { isLoopback } from '../contract/loopback.ts'
import { badPorts } from './bad-ports.ts'
import { configError } from './problem.ts'

/** Longer than any address a server accepts. */
const longest = 2048

/**
 * The address of the gateway, without the version segment that the endpoints add themselves:
 * `https://host`, `https://host/v1/` and `https://host/v1beta` are the same; a path in front is kept
 * (`https://host/proxy/v1` gives `https://host/proxy`, with no slash at its end).
 *
 * @param source where the text comes from, for the message; the text itself may hold a secret and is never shown
 * @throws UsageError for anything that is not a plain http(s) address, for ports that belong to other
 *   protocols, and for clear text to another machine unless `allowHttp`
 */
export function normaliseBaseUrl(text: string, source: string, allowHttp = false): URL {
  const url = parse(text.trim(), source)
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw configError(
      `The base URL (${source}) would send the key to ${url.host} in clear text.`,
      'Use https://, or allow it on purpose with --allow-http.',
    )
  }
  url.search = ''
  url.hash = ''
  url.pathname = url.pathname.replace(/(?:\/(?:v1beta|v1)?)+$/, '')
  return url
}

function parse(text: string, source: string): URL {
  const refuse = (problem: string, hint = 'Write it like https://gateway.example.') =>
    configError(`The base URL (${source}) ${problem}.`, hint)
  if (text.length > longest) throw refuse(`is longer than ${longest} characters`)
  // The URL parser would drop tabs and line breaks without a word.
  if (/[\s\u0000-\u001f\u007f]/.test(text)) throw refuse('contains white space or control characters')
  if (!/^https?:\/\//i.test(text)) throw refuse('must start with https:// or http://')
  const url = URL.parse(text)
  if (url === null) throw refuse('is not a valid URL')
  if (url.username !== '' || url.password !== '') {
    throw refuse('must not contain a user name or password', 'The key is given by MODELGATE_API_KEY.')
  }
  if (text.includes('?') || text.includes('#')) throw refuse('must have no query and no fragment')
  if (url.port !== '' && badPorts.has(Number(url.port))) {
    throw refuse(`names port ${url.port}, which belongs to another protocol`, 'Use another port.')
  }
  return url
}
