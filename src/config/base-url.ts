import { isLoopback } from '../loopback.ts'
import { ConfigError } from '../errors.ts'

const maxLength = 2048

/**
 * The address of the gateway, without the version segment that the endpoints add themselves, and no slash at its end; a
 * path in front is kept: `https://host/proxy/v1` gives `https://host/proxy`.
 * @param source where the text comes from, for the message; the text itself may hold a secret and is never shown
 * @throws ConfigError also for ports of other protocols, and for clear text to another machine unless `allowHttp`
 */
export function normaliseBaseUrl(text: string, source: string, allowHttp = false): URL {
  const url = parse(text.trim(), source)
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw new ConfigError(`The base URL (${source}) would send the key to ${url.host} in clear text.`, {
      hint: 'Use https://, or allow it on purpose with --allow-http.',
    })
  }
  url.search = ''
  url.hash = ''
  url.pathname = url.pathname.replace(/(?:\/(?:v1beta|v1)?)+$/, '')
  return url
}

function parse(text: string, source: string): URL {
  const refuse = (problem: string, hint = 'Write it like https://gateway.example.') =>
    new ConfigError(`The base URL (${source}) ${problem}.`, { hint })
  if (text.length > maxLength) throw refuse(`is longer than ${maxLength} characters`)
  // The URL parser would silently drop tabs and line breaks.
  if (/[\s\u0000-\u001f\u007f]/.test(text)) throw refuse('contains white space or control characters')
  if (!/^https?:\/\//i.test(text)) throw refuse('must start with https:// or http://')
  const url = URL.parse(text)
  if (url === null) throw refuse('is not a valid URL')
  if (url.username !== '' || url.password !== '') {
    throw refuse('must not contain a user name or password', 'Set the key with MODELGATE_API_KEY.')
  }
  if (text.includes('?') || text.includes('#')) throw refuse('must not have a query or a fragment')
  if (url.port !== '' && badPorts.has(Number(url.port))) {
    throw refuse(`uses port ${url.port}, which belongs to another protocol`, 'Use another port.')
  }
  return url
}

/** Ports that HTTP clients refuse to connect to because other protocols use them (Fetch Standard, "port blocking"). */
export const badPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
