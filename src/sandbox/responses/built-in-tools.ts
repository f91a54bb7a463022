import { tokensOf, withoutScenarios } from '../answer/answer.ts'
import { type JsonObject, listOf, numberOf, objectOf, textOf, textsOf } from '../json-value.ts'
import { generateImage } from './generated-image.ts'
import { callRemoteTool } from './remote-tools.ts'
import { output, type Finding } from './output-item.ts'
import { queryOf, type BuiltInCall, type CallSetting, type MadeCall } from './tool-call.ts'

interface BuiltInTool {
  /** The `type` of tools of this kind; their dated versions begin with it. */
  readonly types: readonly string[]
  make(call: BuiltInCall, setting: CallSetting): MadeCall | Promise<MadeCall>
}

export type BuiltInKind = keyof typeof builtInTools

/** The built-in tools by the word that a prompt calls them with (wire notes, section 2, "Output items"). */
export const builtInTools = {
  web_search: { types: ['web_search', 'web_search_preview'], make: searchWeb },
  file_search: { types: ['file_search'], make: searchFiles },
  code_interpreter: { types: ['code_interpreter'], make: interpretCode },
  image_generation: { types: ['image_generation'], make: makeImage },
  computer: { types: ['computer', 'computer_use', 'computer_use_preview'], make: useComputer },
  local_shell: { types: ['local_shell'], make: runLocally },
  shell: { types: ['shell'], make: runShell },
  mcp: { types: ['mcp'], make: callRemoteTool },
} as const satisfies Readonly<Record<string, BuiltInTool>>

/** The kind of a tool, or of a tool choice; undefined for functions, custom tools and what the sandbox never calls. */
export function kindOfTool(tool: JsonObject): BuiltInKind | undefined {
  const type = textOf(tool['type']).replace(/_20\d\d_\d\d_\d\d$/, '')
  const kinds = Object.keys(builtInTools) as BuiltInKind[]
  return kinds.find((kind) => (builtInTools[kind].types as readonly string[]).includes(type))
}

function includes({ exchange }: CallSetting, extra: string): boolean {
  return listOf(exchange.body['include']).includes(extra)
}

const failed = (what: string): Finding => ({ sentence: `[sandbox] The ${what} failed.` })

/** The first call searches, the next ones open what was found, and look for a word in it. */
function searchWeb({ tool, number, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const query = queryOf(setting)
  const [domain = 'example.com'] = textsOf(objectOf(tool['filters'])['allowed_domains'])
  const page = 1 + Math.floor(number / 3)
  const url = `https://${domain}/sandbox/${page}`
  const sources = [url, `${url}/more`].map((found) => ({ type: 'url', url: found }))
  const search = {
    type: 'search',
    query,
    queries: [query],
    ...(includes(setting, 'web_search_call.action.sources') && { sources }),
  }
  const open = { type: 'open_page', url }
  const find = { type: 'find_in_page', url, pattern: query.split(' ')[0] }
  const item = {
    id: setting.newId('ws'),
    type: 'web_search_call',
    status: fails ? 'failed' : 'completed',
    action: [search, open, find][number % 3],
  }
  const made = { outputs: [output(item, tokensOf(query))] }
  if (fails) return { ...made, finding: failed('web search') }
  if (item.action !== search) return made
  const cited = `[Page ${page}](${url})`
  const source = { type: 'url_citation', url, title: `Page ${page} of the sandbox` }
  return { ...made, finding: { sentence: `The web has a page on it: ${cited}.`, cited, source } }
}

function searchFiles({ tool, number, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const query = queryOf(setting)
  const file = { file_id: setting.newId('file').replace('_', '-'), filename: 'sandbox-notes.md' }
  const count = Math.min(numberOf(tool['max_num_results']) ?? 2, 2)
  const results = Array.from({ length: count }, (_, rank) => ({
    ...file,
    score: 0.9 - rank / 4,
    text: `[sandbox] Passage ${rank + 1} of a file that no store has.`,
    attributes: {},
  }))
  const item = {
    id: setting.newId('fs'),
    type: 'file_search_call',
    status: fails ? 'failed' : 'completed',
    queries: [query],
    results: includes(setting, 'file_search_call.results') && !fails ? results : null,
  }
  const cited = `(${file.filename})`
  const finding = {
    sentence: `A file has notes on it ${cited}.`,
    cited,
    source: { type: 'file_citation', ...file, index: number },
  }
  return { outputs: [output(item, tokensOf(query))], finding: fails ? failed('file search') : finding }
}

const program =
  "values = [3, 1, 4, 1, 5]\nwith open('result.csv', 'w') as file:\n    file.write(str(sum(values)))\nprint(sum(values))\n"

function interpretCode({ tool, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const { container } = tool
  const containerId = typeof container === 'string' ? container : setting.newId('cntr')
  const code = fails ? `${program}raise SystemExit('sandbox')\n` : program
  const logs = fails ? '14\nSystemExit: sandbox\n' : '14\n'
  const item = {
    id: setting.newId('ci'),
    type: 'code_interpreter_call',
    status: fails ? 'failed' : 'completed',
    code,
    container_id: containerId,
    outputs: includes(setting, 'code_interpreter_call.outputs') ? [{ type: 'logs', logs }] : null,
  }
  const cited = 'result.csv'
  const source = {
    type: 'container_file_citation',
    container_id: containerId,
    file_id: setting.newId('cfile'),
    filename: cited,
  }
  const finding = { sentence: `The program printed 14 and wrote ${cited}.`, cited, source }
  return { outputs: [output(item, tokensOf(code))], finding: fails ? failed('program') : finding }
}

async function makeImage(call: BuiltInCall, setting: CallSetting): Promise<MadeCall> {
  const { fails } = call
  const prompt = withoutScenarios(setting.prompt)
  const { properties, image, partials } = await generateImage(call, { ...setting, prompt })
  const item = {
    id: setting.newId('ig'),
    type: 'image_generation_call',
    status: fails ? 'failed' : 'completed',
    action: 'generate',
    ...properties,
    revised_prompt: `[sandbox] ${prompt}`,
    result: image ?? null,
  }
  const sentence = 'The picture is part of the reply.'
  return {
    outputs: [output(item, [], { partials })],
    finding: fails ? failed('image generation') : { sentence },
  }
}

/** First a look at the screen, then a click into its middle. */
function useComputer({ tool, number }: BuiltInCall, setting: CallSetting): MadeCall {
  const [width, height] = [numberOf(tool['display_width']) ?? 1024, numberOf(tool['display_height']) ?? 768]
  const click = { type: 'click', button: 'left', x: Math.floor(width / 2), y: Math.floor(height / 2) }
  const action = number === 0 ? { type: 'screenshot' } : click
  const item = {
    id: setting.newId('cu'),
    type: 'computer_call',
    status: 'completed',
    call_id: callId(setting),
    // The preview has one action, its successor a list.
    ...(tool['type'] === 'computer' ? { actions: [action] } : { action }),
    pending_safety_checks: [],
  }
  return { outputs: [output(item, tokensOf(JSON.stringify(action)))], waits: true }
}

function callId({ newId }: CallSetting): string {
  return newId('call').slice(0, 29)
}

const command = 'echo "hello from the sandbox"'

function runLocally(_: BuiltInCall, setting: CallSetting): MadeCall {
  const item = {
    id: setting.newId('lsh'),
    type: 'local_shell_call',
    status: 'completed',
    call_id: callId(setting),
    action: { type: 'exec', command: ['sh', '-c', command], env: {}, timeout_ms: 10_000 },
  }
  return { outputs: [output(item, tokensOf(command))], waits: true }
}

/** A shell in a container runs at the gateway; any other is the caller's. */
function runShell({ tool, fails }: BuiltInCall, setting: CallSetting): MadeCall {
  const environment = objectOf(tool['environment'])
  const isHosted = textOf(environment['type']).startsWith('container')
  const shared = { status: 'completed', call_id: callId(setting) }
  const container_id = textOf(environment['container_id']) || setting.newId('cntr')
  const call = {
    id: setting.newId('sh'),
    type: 'shell_call',
    ...shared,
    action: { commands: [command], max_output_length: null, timeout_ms: null },
    environment: isHosted ? { type: 'container_reference', container_id } : { type: 'local' },
  }
  const made = output(call, tokensOf(command))
  if (!isHosted) return { outputs: [made], waits: true }
  const outcome = { type: 'exit', exit_code: fails ? 1 : 0 }
  const result = {
    id: setting.newId('sho'),
    type: 'shell_call_output',
    ...shared,
    max_output_length: null,
    output: [{ stdout: fails ? '' : 'hello from the sandbox\n', stderr: '', outcome }],
  }
  const finding = fails ? failed('command') : { sentence: 'The shell said hello from the sandbox.' }
  return { outputs: [made, output(result, [])], finding }
}
