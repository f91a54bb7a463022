import { outputItemKinds } from '../../contract/responses.ts'
import { objectOf, objectsOf, stringOf, type JsonObject } from '../json-access.ts'

/** One line that says what an output item is; kinds never seen are named by their `type`. */
export function summariseItem(item: JsonObject): string {
  const type = stringOf(item['type']) ?? 'item'
  const name = Object.hasOwn(outputItemKinds, type) ? outputItemKinds[type]! : type
  const details = detailsOf(type, item)
  const status = stringOf(item['status'])
  const state = status === undefined || status === 'completed' ? '' : ` (${status})`
  return details === '' ? `${name}${state}` : `${name}: ${details}${state}`
}

function detailsOf(type: string, item: JsonObject): string {
  const action = objectOf(item['action'])
  switch (type) {
    case 'web_search_call':
      return searchText(action) ?? stringOf(action['url']) ?? ''
    case 'file_search_call':
      return strings(item['queries']).join('; ')
    case 'code_interpreter_call':
      return stringOf(item['code'])?.split('\n', 1)[0] ?? ''
    case 'local_shell_call':
      return strings(action['command']).join(' ')
    case 'shell_call':
      return strings(action['commands']).join('; ')
    case 'computer_call':
      return stringOf(action['type']) ?? ''
    case 'mcp_list_tools':
      return `${stringOf(item['server_label']) ?? ''} offers ${objectsOf(item['tools']).length} tools`.trim()
    case 'mcp_call':
    case 'mcp_approval_request':
      return [stringOf(item['server_label']), stringOf(item['name'])].filter(Boolean).join('.')
    case 'custom_tool_call':
      return stringOf(item['name']) ?? ''
    default:
      return ''
  }
}

function searchText(action: JsonObject): string | undefined {
  const queries = strings(action['queries'])
  return queries.length > 0 ? queries.join('; ') : stringOf(action['query'])
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : []
}
