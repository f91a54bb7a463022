import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

export interface Certificate {
  /** PEM. */
  readonly key: string
  /** PEM; signed by itself unless told, so that it is its own authority. */
  readonly cert: string
}

/** Node makes keys but no certificates. */
const program = 'openssl'
export const canMakeCertificates = spawnSync(program, ['version']).status === 0

/**
 * A fresh certificate for these names, such as `IP:127.0.0.1` or `DNS:localhost`. Needs `openssl`. Its time may be over
 * since yesterday, and an authority that nobody knows may have signed it.
 */
export function makeCertificate(
  names = 'IP:127.0.0.1,DNS:localhost',
  { isExpired = false, isOfAuthority = false } = {},
): Certificate {
  const folder = temporaryFolder()
  const path = (name: string) => join(folder, name)
  const run = (...argv: readonly string[]) => execFileSync(program, argv, { stdio: 'ignore' })
  const newKey = (name: string) =>
    ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', path(name)] as const
  const extension = `subjectAltName=${names}`
  const lasting = ['-x509', '-days', '2'] as const
  if (isExpired) {
    // `req` makes none that has ended.
    writeFileSync(path('extensions'), extension)
    run('req', '-new', ...newKey('key.pem'), '-subj', '/CN=test', '-out', path('request.pem'))
    const signing = ['-signkey', path('key.pem'), '-days', '-1', '-extfile', path('extensions')]
    run('x509', '-req', '-in', path('request.pem'), ...signing, '-out', path('cert.pem'))
  } else {
    const authority = ['-CA', path('authority.pem'), '-CAkey', path('authority-key.pem')]
    if (isOfAuthority) {
      const subject = ['-subj', '/CN=authority', '-out', path('authority.pem')]
      run('req', ...lasting, ...newKey('authority-key.pem'), ...subject)
    }
    const signed = isOfAuthority ? authority : []
    const own = ['-subj', '/CN=test', '-addext', extension, '-out', path('cert.pem')]
    run('req', ...lasting, ...signed, ...newKey('key.pem'), ...own)
  }
  return { key: readFileSync(path('key.pem'), 'utf8'), cert: readFileSync(path('cert.pem'), 'utf8') }
}
