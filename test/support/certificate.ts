import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

export interface Certificate {
  /** PEM. */
  readonly key: string
  /** PEM; signed by itself, so that it is its own authority. */
  readonly cert: string
}

/** Node makes keys but no certificates. */
const program = 'openssl'
export const canMakeCertificates = spawnSync(program, ['version']).status === 0

/** A fresh certificate for these names, such as `IP:127.0.0.1` or `DNS:localhost`. Needs `openssl`. */
export function makeCertificate(names = 'IP:127.0.0.1,DNS:localhost'): Certificate {
  const folder = temporaryFolder()
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  const ask = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test`
  execFileSync(
    program,
    [...ask.split(' '), '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert],
    {
      stdio: 'ignore',
    },
  )
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}
