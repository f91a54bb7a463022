import { shownSource } from '../../../files/next-command.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Gateway, GatewayRequest } from '../../../gateway/gateway.ts'
import { wireRequest, hideHeader } from '../../../gateway/send-request.ts'
import type { ImagePart } from '../../../operations/image-request.ts'
import { sanitise, sanitiseJson } from '../../../output/gate.ts'
import { sandboxKey, type CommandCall } from '../gateway/open-gateway.ts'

/** Prints a request in place of sending it. */
export async function printRequest(
  { context: { stdout }, options, settings, gate }: CommandCall,
  gateway: Gateway,
  { parts, ...request }: PrintableRequest,
): Promise<void> {
  const wire = wireRequest(gateway, request)
  const chunks = parts ? undefined : request.body?.chunks()
  const json = chunks && Buffer.concat(await Array.fromAsync(chunks)).toString('utf8')
  // Headers of the user have their values as they are written.
  const isOwn = (name: string) => Object.hasOwn(gateway.headers ?? {}, name)
  if (options.curl) {
    const shellKey = options.sandbox ? sandboxKey : await keyForShell(settings)
    const headerLine = ([name, value]: readonly [string, string]) => {
      if (isOwn(name)) return `-H ${ownHeader(name, value)}`
      return name === 'authorization'
        ? `-H "${name}: Bearer ${shellKey}"`
        : `-H ${quoted(`${name}: ${value}`)}`
    }
    const command = gate.text(curlCommand(wire, headerLine, json, parts))
    stdout.write(`${stdout.isTerminal ? sanitise(command) : command}\n`)
  } else {
    const shown = Object.entries(wire.headers).map(([name, value]) => {
      return [name, isOwn(name) ? shownSource(value) : hideHeader(name, value)] as const
    })
    const { method, url } = wire
    const body = json === undefined ? undefined : (JSON.parse(json) as unknown)
    const document = { method, url: url.href, headers: Object.fromEntries(shown), body, parts }
    const printed = JSON.stringify(document, undefined, 2)
    stdout.write(`${gate.document(stdout.isTerminal ? sanitiseJson(printed) : printed)}\n`)
  }
  await stdout.drain()
}

/** @param parts of a multipart body */
export type PrintableRequest = GatewayRequest & { readonly parts?: readonly ImagePart[] | undefined }

/** A value that is written out is left to fill in. */
function ownHeader(name: string, source: string): string {
  if (source.startsWith('@')) return `"${name}: $(cat ${quoted(source.slice(1))})"`
  const [, variable] = /^env:(\w+)$/.exec(source) ?? []
  return variable === undefined ? quoted(`${name}: ${shownSource(source)}`) : `"${name}: $${variable}"`
}

/** Linux limits a single argument to 128 KiB; longer bodies are piped. */
const maxArgumentBytes = 100_000

/** What a POSIX shell expands to the key when the command runs, from wherever the key is configured. */
async function keyForShell({ keyLocation }: Settings): Promise<string> {
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

function curlCommand(
  { method, url, headers }: ReturnType<typeof wireRequest>,
  headerLine: (header: readonly [name: string, value: string]) => string,
  body: string | undefined,
  parts: readonly ImagePart[] | undefined,
): string {
  // curl makes the boundary of a multipart body itself.
  const shown = Object.entries(headers).filter(([name]) => parts === undefined || name !== 'content-type')
  // curl sends a POST by itself where there is a body.
  const verb = method === 'GET' || parts !== undefined || body !== undefined ? '' : ` -X ${method}`
  // printf is a shell builtin, which has no such limit.
  const isPiped = body !== undefined && Buffer.byteLength(body) > maxArgumentBytes
  return [
    ...(isPiped ? [`printf %s ${quoted(body)} |`] : []),
    `curl --no-buffer --fail-with-body -sS${verb} ${quoted(url.href)}`,
    ...shown.map(headerLine),
    ...(parts ?? []).map(formLine),
    ...(body === undefined ? [] : [`--data-binary ${isPiped ? '@-' : quoted(body)}`]),
  ].join(' \\\n  ')
}

function formLine(part: ImagePart): string {
  if ('value' in part) return `--form-string ${quoted(`${part.name}=${part.value}`)}`
  const [path, fileName] = [part.path, part.file_name].map(curlQuoted)
  return `-F ${quoted(`${part.name}=@${path};filename=${fileName};type=${part.media_type}`)}`
}

/** In curl's -F only backslashes and quotes need escaping. */
function curlQuoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
