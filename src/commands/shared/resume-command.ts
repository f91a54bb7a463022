import type { Context } from '../../context.ts'
import { shellWord } from '../../files/file-error.ts'
import type { OutputDocument } from '../../events/documents.ts'
import { objectOf, objectsOf } from '../../json.ts'
import type { CommonOptions } from './common-options.ts'

/**
 * The command that resumes waiting for a job, ready to paste, with the flags that it needs to find the same gateway.
 * @param group the commands for such jobs
 */
export function resumeCommand(
  { program }: Pick<Context, 'program'>,
  options: GatewayOptions,
  group: 'video' | 'response' = 'video',
) {
  const flags = gatewayFlags(options)
  /** @param after the number of the event behind which the stream of a response goes on */
  return (id: string, after?: number): string => {
    const place = after === undefined ? [] : ['--stream', '--starting-after', String(after)]
    const operands = id.startsWith('-') ? ['--', id] : [id]
    return [program, ...[group, 'wait', ...place, ...flags, ...operands].map(shellWord)].join(' ')
  }
}

type GatewayOptions = Pick<CommonOptions, 'sandbox' | 'profile' | 'baseUrl'>

function gatewayFlags({ sandbox, profile, baseUrl }: GatewayOptions): string[] {
  return [
    ...(sandbox ? ['--sandbox'] : []),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(baseUrl === undefined || sandbox ? [] : ['--base-url', baseUrl]),
  ]
}

/**
 * The command that answers the calls of a response and goes on with it, with TEXT for each output. Undefined for a
 * response that asks for nothing, or is not kept: by the gateway, or by the sandbox inside of one command.
 */
export function answerCommand({ program }: Pick<Context, 'program'>, options: CommonOptions) {
  return (document: OutputDocument): string | undefined => {
    if (document.command !== 'respond' || options.sandbox) return undefined
    const { id, store, output } = objectOf(document.response)
    if (typeof id !== 'string' || store === false) return undefined
    const calls = document.tool_calls.map(({ type, id: call }) => [
      type === 'custom' ? '--custom-tool-output' : '--tool-output',
      `${call}=TEXT`,
    ])
    const approvals = objectsOf(output)
      .filter((item) => item['type'] === 'mcp_approval_request' && typeof item['id'] === 'string')
      .map((item) => ['--approve', item['id'] as string])
    const answers = [...calls, ...approvals].flat()
    if (answers.length === 0) return undefined
    const model = options.model === undefined ? [] : ['-m', options.model]
    const words = ['respond', ...gatewayFlags(options), ...model, '--previous-response-id', id, ...answers]
    return [program, ...words.map(quoted)].join(' ')
  }
}

/** As a word of a shell; an assignment needs no quotes for its "=". */
const quoted = (word: string) => (/^[\w.-]+=TEXT$/.test(word) ? word : shellWord(word))

/**
 * The command that goes on with a response. What has been printed is not printed again, unless the answer is only
 * useful whole: in a file, or as one document.
 */
export function resumeResponse(context: Pick<Context, 'program'>, options: CommonOptions) {
  const command = resumeCommand(context, options, 'response')
  const isWhole = options.json === true || (options.output !== undefined && options.output !== '-')
  return (id: string, after?: number): string => command(id, isWhole ? undefined : after)
}
