import { join } from 'node:path'
import { ConfigError, ModelgateError, UsageError } from '../../errors.ts'
import { readInputFile } from '../../files/input-file.ts'
import { isLoopback } from '../../loopback.ts'
import type { StoreContext } from './shared-store.ts'

/** A place in a bucket, and who may use it. */
export interface S3Location {
  /** `s3://bucket/prefix`. */
  readonly shown: string
  /** The address of the bucket, with no slash at its end. */
  readonly bucketUrl: string
  /** Goes before each key: empty, or with a slash at its end. */
  readonly prefix: string
  readonly region: string
  readonly credentials: S3Credentials
}

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/**
 * Where `s3://bucket/prefix` is, by the variables of the AWS tools: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`,
 * `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, and where
 * there is no key in them the profile (`AWS_PROFILE`) of `AWS_SHARED_CREDENTIALS_FILE`, by default
 * `~/.aws/credentials`.
 * @throws UsageError for a location that is none, ConfigError for an endpoint that is none; ModelgateError `key` without
 * credentials
 */
export async function findS3(
  context: StoreContext,
  location: string,
  allowHttp: boolean,
): Promise<S3Location> {
  const { bucket, prefix } = parseLocation(location)
  const { env } = context
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'
  if (!/^[a-z0-9-]{1,64}$/i.test(region)) {
    throw new ConfigError('AWS_REGION is not the name of a region.', { code: 'bad_store' })
  }
  return {
    shown: `s3://${bucket}/${prefix}`.replace(/\/$/, ''),
    bucketUrl: `${endpointOf(env, region, allowHttp)}/${bucket}`,
    prefix,
    region,
    credentials: await findCredentials(context),
  }
}

/** Longer than this in UTF-8 no server takes a key (Amazon S3 User Guide, "Naming Amazon S3 objects"). */
const maxKeyBytes = 1024
/** `ab/abcd…`. */
const digestKeyBytes = 67

/** The text may hold a secret that was put in the place of the bucket, so it is not shown. */
function parseLocation(location: string): { readonly bucket: string; readonly prefix: string } {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(location) ?? []
  const refuse = (problem: string) =>
    new UsageError(`The store ${problem}.`, {
      code: 'bad_store',
      phase: 'config',
      hint: 'Write it like s3://bucket/prefix.',
    })
  if (bucket === '') throw refuse('at s3:// has no bucket')
  // Older and other servers allow more than Amazon does today.
  if (!/^[a-z\d][a-z\d._-]{1,253}[a-z\d]$/i.test(bucket) || bucket.includes('..')) {
    throw refuse('at s3:// has an invalid bucket name')
  }
  const plain = path.replace(/\/$/, '')
  if (plain === '') return { bucket, prefix: '' }
  const segments = plain.split('/')
  // Addresses are resolved on their way: such a key would end in another place, or nowhere.
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw refuse('has a prefix with an empty part, or with . or .. in it')
  }
  if (/\p{Cc}/u.test(plain) || !plain.isWellFormed()) {
    throw refuse('has a prefix with control characters')
  }
  const prefix = `${plain}/`
  if (Buffer.byteLength(prefix) + digestKeyBytes > maxKeyBytes) throw refuse('has a prefix that is too long')
  return { bucket, prefix }
}

function endpointOf(env: StoreContext['env'], region: string, allowHttp: boolean): string {
  const name = env['AWS_ENDPOINT_URL_S3'] ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL'
  const text = env[name]?.trim()
  if (!text) return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  const refuse = (problem: string, hint = 'Write it like https://s3.example.') =>
    new ConfigError(`The endpoint of the store (${name}) ${problem}.`, { code: 'bad_store', hint })
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw refuse('must start with https:// or http://')
  if (url.username !== '' || url.password !== '') {
    throw refuse(
      'must not contain a user name or password',
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    )
  }
  if (text.includes('?') || text.includes('#')) throw refuse('must not have a query or a fragment')
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw refuse(
      `would send files to ${url.host} in clear text`,
      'Use https://, or allow it on purpose with --allow-http.',
    )
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

async function findCredentials(context: StoreContext): Promise<S3Credentials> {
  const { env } = context
  const found = env['AWS_ACCESS_KEY_ID'] || env['AWS_SECRET_ACCESS_KEY'] ? env : await profileOf(context)
  const id = found['AWS_ACCESS_KEY_ID']?.trim()
  const secret = found['AWS_SECRET_ACCESS_KEY']?.trim()
  const token = found['AWS_SESSION_TOKEN']?.trim()
  if (!id || !secret) throw credentialsMissing(id ? 'AWS_SECRET_ACCESS_KEY' : 'AWS_ACCESS_KEY_ID')
  // Anything else would end a header, and be quoted in the error about that.
  if (![id, secret, token ?? ''].every((part) => /^[\x21-\x7e]*$/.test(part))) {
    throw new ModelgateError(
      'key',
      'store_key_invalid',
      'The keys to the store contain characters that no key has.',
      {
        phase: 'config',
        hint: 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.',
      },
    )
  }
  return { accessKeyId: id, secretAccessKey: secret, ...(token ? { sessionToken: token } : {}) }
}

/** Larger than any file of credentials. */
const maxProfileBytes = 1_048_576

/** The keys of the profile, by the names of the variables; nothing where there is no file, or no such profile. */
async function profileOf(context: StoreContext): Promise<StoreContext['env']> {
  const { env, home } = context
  const path = env['AWS_SHARED_CREDENTIALS_FILE'] || (home === '' ? '' : join(home, '.aws', 'credentials'))
  if (path === '') return {}
  const content = await readInputFile(context, path, { pipes: false, maxBytes: maxProfileBytes })
  if (content instanceof ModelgateError) return {}
  const wanted = env['AWS_PROFILE'] || 'default'
  const found: Record<string, string> = {}
  let section = ''
  for (const line of content.toString('utf8').split(/\r?\n/)) {
    section = /^\[\s*(?:profile\s+)?([^\]]*?)\s*\]/.exec(line)?.[1] ?? section
    const [, name, value] = /^\s*(aws_\w+)\s*=\s*(.*?)\s*$/i.exec(line) ?? []
    if (section === wanted && name !== undefined) found[name.toUpperCase()] = value!
  }
  return found
}

function credentialsMissing(name: string): ModelgateError {
  return new ModelgateError('key', 'store_key_missing', `There is no key to the store: ${name} is not set.`, {
    phase: 'config',
    billed: 'no',
    hint:
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or keep them in ~/.aws/credentials. ' +
      'Keys of a role or of a single sign-on: eval "$(aws configure export-credentials --format env)"',
  })
}
