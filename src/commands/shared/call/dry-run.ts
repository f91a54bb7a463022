import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { Gateway, GatewayRequest } from '../../../gateway/gateway.ts'
import { wireRequest, hideHeader } from '../../../gateway/send-request.ts'
import type { ImagePart } from '../../../operations/image-request.ts'
import { type Gate, sanitise, sanitiseJson } from '../../../output/gate.ts'
import type { CommonOptions } from '../options/common-options.ts'

/**
 * Prints the exact request with its key hidden: as a JSON object, or with `--curl` as a command to paste.
 * @param shellKey the key as the command has it: what a shell expands to it
 */
export async function printRequest(
  context: Context,
  options: CommonOptions,
  { gateway, gate, shellKey }: { readonly gateway: Gateway; readonly gate: Gate; readonly shellKey: string },
  request: GatewayRequest,
  content: PrintableContent,
): Promise<void> {
  const { method, url, headers } = wireRequest(gateway, request)
  const { stdout } = context
  if (options.curl) {
    const command = gate.text(curlCommand(method, url, headers, shellKey, bodyOf(content)))
    stdout.write(`${stdout.isTerminal ? sanitise(command) : command}\n`)
  } else {
    const shownRequest = { method, url: url.href, headers: hidden(headers), ...fieldsOf(content) }
    const json = JSON.stringify(shownRequest, undefined, 2)
    stdout.write(`${gate.document(stdout.isTerminal ? sanitiseJson(json) : json)}\n`)
  }
  await stdout.drain()
}

/** The content of a request: JSON, the parts of a form, or nothing (`body` undefined). */
export type PrintableContent = { readonly body: unknown } | { readonly parts: readonly ImagePart[] }

function bodyOf(content: PrintableContent): string | readonly ImagePart[] | undefined {
  if ('parts' in content) return content.parts
  return content.body === undefined ? undefined : JSON.stringify(content.body)
}

function fieldsOf(content: PrintableContent) {
  return 'parts' in content ? { parts: content.parts } : { body: content.body }
}

function hidden(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hideHeader(name, value)]))
}

/** Linux limits a single argument to 128 KiB; longer bodies are piped. */
const maxArgumentBytes = 100_000

/** What a POSIX shell expands to the key when the command runs, from wherever the key is configured. */
export async function keyForShell({ keyLocation }: Settings): Promise<string> {
  // A location that cannot be used is reported when a key is needed.
  const location = await keyLocation().catch(() => undefined)
  switch (location?.kind) {
    case 'file':
      return `$(tr -d '[:space:]' <${quoted(location.path)})`
    case 'command':
      // In the home directory, as the program runs it.
      return `$(cd && ${location.command})`
    case 'credentials': {
      const file = `JSON.parse(fs.readFileSync(${JSON.stringify(location.path)}))`
      return `$(node -p ${quoted(`${file}.profiles[${JSON.stringify(location.profile)}].api_key`)})`
    }
    default:
      return '$MODELGATE_API_KEY'
  }
}

/** For a POSIX shell. The key is never in the text. */
function curlCommand(
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  shellKey: string,
  body: string | readonly ImagePart[] | undefined,
): string {
  const isParts = typeof body === 'object'
  const headerLines = Object.entries(headers)
    // curl makes the boundary of a multipart body itself.
    .filter(([name]) => !isParts || name !== 'content-type')
    .map(([name, value]) =>
      name === 'authorization'
        ? `-H "authorization: Bearer ${shellKey}"`
        : `-H ${quoted(`${name}: ${value}`)}`,
    )
  // curl sends a POST by itself where there is a body.
  const verb = body === undefined && method !== 'GET' ? ` -X ${method}` : ''
  const start = `curl --no-buffer --fail-with-body -sS${verb} ${quoted(url.href)}`
  if (body === undefined) return [start, ...headerLines].join(' \\\n  ')
  if (isParts) return [start, ...headerLines, ...body.map(formLine)].join(' \\\n  ')
  // printf is a shell builtin, which has no such limit.
  const isLong = Buffer.byteLength(body) > maxArgumentBytes
  const feed = isLong ? [`printf %s ${quoted(body)} |`] : []
  const data = `--data-binary ${isLong ? '@-' : quoted(body)}`
  return [...feed, start, ...headerLines, data].join(' \\\n  ')
}

function formLine(part: ImagePart): string {
  if ('value' in part) return `--form-string ${quoted(`${part.name}=${part.value}`)}`
  const [path, fileName] = [part.path, part.file_name].map(curlQuoted)
  return `-F ${quoted(`${part.name}=@${path};filename=${fileName};type=${part.media_type}`)}`
}

/** Quoted for curl's -F, where only backslashes and quotes need escaping. */
function curlQuoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
