/** The states of a response object (specification, "States and transitions"). */
export const responseStates = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const
export type ResponseState = (typeof responseStates)[number]

/** Other names of the states that gateways were seen to send, in lower case. */
const otherNames: Readonly<Record<string, ResponseState>> = { complete: 'completed', canceled: 'cancelled' }

/** An unknown name means a running response (fault F2). */
export function responseStateOf(word: string): ResponseState | undefined {
  const name = word.trim().toLowerCase()
  return responseStates.find((state) => state === name) ?? otherNames[name]
}

/** Output item kinds by their `type` on the wire, with the specification's name for each. */
export const outputItemKinds: Readonly<Record<string, string>> = {
  message: 'output message',
  file_search_call: 'file search tool call',
  function_call: 'function tool call',
  web_search_call: 'web search tool call',
  computer_call: 'computer tool call',
  reasoning: 'reasoning',
  image_generation_call: 'image generation call',
  code_interpreter_call: 'code interpreter tool call',
  local_shell_call: 'local shell call',
  mcp_call: 'remote tool call',
  mcp_list_tools: 'remote tool list',
  mcp_approval_request: 'remote tool approval request',
  custom_tool_call: 'custom tool call',
}
