import type { Context } from '../../context.ts'
import { wireRequest, type Gateway, type GatewayRequest } from '../../gateway/gateway.ts'
import { hideHeader } from '../../gateway/trace.ts'
import type { CommonOptions } from './common-options.ts'

/** Whether the request is to be shown instead of sent. */
export function isDryRun(options: CommonOptions): boolean {
  return options.dryRun === true || options.curl === true
}

/** Prints the exact request with its key hidden: as a JSON object, or with `--curl` as a command to paste. */
export async function printRequest(
  context: Context,
  options: CommonOptions,
  gateway: Gateway,
  request: GatewayRequest,
  body: unknown,
): Promise<void> {
  const { method, url, headers } = wireRequest(gateway, request)
  const text = options.curl
    ? curlCommand(url, headers, JSON.stringify(body))
    : JSON.stringify({ method, url: url.href, headers: hidden(headers), body }, undefined, 2)
  context.stdout.write(`${text}\n`)
  await context.stdout.drain()
}

function hidden(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hideHeader(name, value)]))
}

/** The system refuses a single argument of 128 KiB (Linux); beyond this the body goes through a pipe. */
const longestArgument = 100_000

/** For a POSIX shell; the key comes from the environment of whoever pastes it, never from the text. */
function curlCommand(url: URL, headers: Readonly<Record<string, string>>, body: string): string {
  const headerLines = Object.entries(headers).map(([name, value]) =>
    name === 'authorization'
      ? `-H "authorization: Bearer $MODELGATE_API_KEY"`
      : `-H ${quoted(`${name}: ${value}`)}`,
  )
  // printf is part of the shell, which knows no such limit.
  const isLong = Buffer.byteLength(body) > longestArgument
  const feed = isLong ? [`printf %s ${quoted(body)} |`] : []
  const data = `--data-binary ${isLong ? '@-' : quoted(body)}`
  return [...feed, `curl --no-buffer ${quoted(url.href)}`, ...headerLines, data].join(' \\\n  ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
