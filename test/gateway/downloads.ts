import { ModelgateError } from '../../src/errors.ts'
import type { Network } from '../../src/gateway/download/url-policy.ts'
import type { LocalServer } from '../support/local-server.ts'
import { head, readAll, reset, text, write, type ServerReply } from '../support/server-replies.ts'
import { settled } from './test-gateway.ts'

const addresses: Readonly<Record<string, string>> = {
  'gateway.test': '93.184.216.34',
  'cdn.test': '93.184.216.35',
  'internal.test': '10.0.0.7',
  'rebinding.test': '127.0.0.1',
}

/** Hosts of the tests: all are reached at this machine, whatever their addresses are. */
export const network: Network = {
  async resolve(host) {
    const address = addresses[host]
    if (address === undefined) throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })
    return [{ address, family: 4 }]
  },
  reach: () => ({ address: '127.0.0.1', family: 4 }),
}

/** The key of the test's gateway, as it is sent. */
export const key = 'Bearer test-key-0123456789'

/** An address at a server under the name of a host. */
export const at = (host: string, { port }: Pick<LocalServer, 'port'>, path = '/a?sig=s3cret') =>
  `http://${host}:${port}${path}`

export const moved = (location: string, status = 302) => text('', { status, headers: { location } })

/** The beginning of a body that is longer, and then a reset. */
export const broken = (beginning: string, bytes: number): ServerReply => [
  readAll,
  write(head(200, { 'content-length': String(bytes) }) + beginning),
  reset,
]

/** What a download leaves in its sink, and how it ends: `framed`, `not framed`, or exit code and code. */
export async function fetched(
  run: (sink: { write(bytes: Uint8Array): Promise<void>; restart(): Promise<void> }) => Promise<boolean>,
) {
  const chunks: Uint8Array[] = []
  const write = async (bytes: Uint8Array) => void chunks.push(Buffer.from(bytes))
  const end = await settled(run({ write, restart: async () => void chunks.splice(0) }))
  const content = Buffer.concat(chunks).toString('latin1')
  if (end instanceof ModelgateError) return { outcome: `${end.exitCode} ${end.code}`, content, error: end }
  return { outcome: end ? 'framed' : 'not framed', content, error: undefined }
}
