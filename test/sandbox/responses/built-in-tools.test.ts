import type OpenAI from 'openai'
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { openaiClient } from '../clients/all.ts'

const create = async (body: ResponseCreateParamsNonStreaming) =>
  (await openaiClient()).client.responses.create(body)
const typesOf = ({ output }: Response) => output.map(({ type }) => type)

/** The only item of that type. */
function itemOf<Type extends Response['output'][number]['type']>({ output }: Response, type: Type) {
  const [item, ...others] = output.filter((candidate) => candidate.type === type)
  expect(others).toEqual([])
  return item as Extract<Response['output'][number], { type: Type }>
}

function annotationsOf({ output, output_text: text }: Response) {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  const annotations = parts.flatMap((part) => (part.type === 'output_text' ? part.annotations : []))
  return annotations.map((annotation) => ({
    ...annotation,
    cited: 'start_index' in annotation ? text.slice(annotation.start_index, annotation.end_index) : undefined,
  }))
}

type Tool = OpenAI.Responses.Tool
const webSearch = { type: 'web_search' } satisfies Tool
const fileSearch = { type: 'file_search', vector_store_ids: ['vs_1'] } satisfies Tool
const interpreter = { type: 'code_interpreter', container: { type: 'auto' } } satisfies Tool
const image = { type: 'image_generation', size: '1024x1536', quality: 'low' } satisfies Tool
const server = { type: 'mcp', server_label: 'files', server_url: 'https://example.com/mcp' } satisfies Tool
const weather = { type: 'function', name: 'get_weather', parameters: null, strict: false } satisfies Tool

test('tool_choice none calls nothing; auto calls what the prompt names; allowed_tools narrows both', async () => {
  const tools = [webSearch, fileSearch]
  const asked = 'Use web_search and file_search'
  type Choice = NonNullable<ResponseCreateParamsNonStreaming['tool_choice']>
  const typesFor = async (tool_choice: Choice, input = asked) =>
    typesOf(await create({ input, tools, tool_choice }))
  expect(await typesFor('none', 'sandbox:web_search')).toEqual(['message'])
  expect(await typesFor('auto')).toEqual(['web_search_call', 'file_search_call', 'message'])
  expect(await typesFor('auto', 'Rivers')).toEqual(['message'])
  const allowed = { type: 'allowed_tools' as const, tools: [{ type: 'file_search' }] }
  expect(await typesFor({ ...allowed, mode: 'auto' })).toEqual(['file_search_call', 'message'])
  expect(await typesFor({ ...allowed, mode: 'auto' }, 'Rivers')).toEqual(['message'])
  expect(await typesFor({ ...allowed, mode: 'required' }, 'Rivers')).toEqual(['file_search_call', 'message'])
})

test.each([
  [0, []],
  [2, ['web_search_call', 'file_search_call']],
  [null, ['web_search_call', 'file_search_call', 'code_interpreter_call']],
])('max_tool_calls %j leaves out further calls of built-in tools, not of functions', async (most, called) => {
  const input = 'web_search, file_search, code_interpreter and get_weather'
  const tools = [webSearch, fileSearch, interpreter, weather]
  const response = await create({ input, tools, max_tool_calls: most })
  expect(typesOf(response)).toEqual([...called, 'function_call'])
  expect(response.max_tool_calls).toBe(most)
})

test('the ids of calls begin as those of the public service', async () => {
  const shell = { type: 'local_shell' } satisfies Tool
  const display = { display_width: 800, display_height: 600 }
  const computer = { type: 'computer_use_preview', ...display, environment: 'linux' } satisfies Tool
  const idsOf = async (tool: Tool) =>
    (await create({ input: 'Look', tools: [tool], tool_choice: 'required' })).output.map(({ id }) => id)
  expect(await idsOf(shell)).toEqual([expect.stringMatching(/^lsh_/)])
  expect(await idsOf(computer)).toEqual([expect.stringMatching(/^cu_/)])
  expect(await idsOf(webSearch)).toEqual([expect.stringMatching(/^ws_/), expect.stringMatching(/^msg_/)])
})

test('parallel_tool_calls false leaves one call', async () => {
  const tools = [weather, webSearch]
  const input = 'get_weather and web_search'
  expect(typesOf(await create({ input, tools }))).toEqual(['web_search_call', 'function_call'])
  expect(typesOf(await create({ input, tools, parallel_tool_calls: false }))).toEqual(['function_call'])
})

/** What a tool finds is cited where the text names it; its results are shown on request (`specification`). */
test.for<[tool: Tool, extra: string, found: object, cited: object]>([
  [
    webSearch,
    'web_search_call.action.sources',
    { action: { query: 'Rivers 👨‍👩‍👧', sources: [{ url: 'https://example.com/sandbox/1' }, {}] } },
    { type: 'url_citation', cited: '[Page 1](https://example.com/sandbox/1)' },
  ],
  [
    { ...fileSearch, max_num_results: 1 },
    'file_search_call.results',
    { queries: ['Rivers 👨‍👩‍👧'], results: [{ filename: 'sandbox-notes.md', text: expect.any(String) }] },
    { type: 'file_citation', filename: 'sandbox-notes.md', index: 0 },
  ],
  [
    { type: 'code_interpreter', container: 'cntr_mine' },
    'code_interpreter_call.outputs',
    { container_id: 'cntr_mine', outputs: [{ type: 'logs', logs: '14\n' }] },
    { type: 'container_file_citation', container_id: 'cntr_mine', cited: 'result.csv' },
  ],
])('%j is cited, and shows what it found on request', async ([tool, extra, found, cited]) => {
  const body = { input: 'Rivers 👨‍👩‍👧', tools: [tool], tool_choice: 'required' as const }
  const response = await create({ ...body, include: [extra as never] })
  expect(response.output[0]).toMatchObject(found)
  expect(annotationsOf(response)).toMatchObject([cited])
})

test('an image generation call returns a picture of the size that is asked for, and previews of it', async () => {
  const { client } = await openaiClient()
  const tools = [{ ...image, size: '1024x1024' as const, partial_images: 1, output_format: 'png' as const }]
  const body = { input: 'A red fox', tools, tool_choice: 'required' as const }
  const stream = client.responses.stream(body)
  const previews: string[] = []
  for await (const event of stream) {
    if (event.type !== 'response.image_generation_call.partial_image') continue
    expect(event).toMatchObject({ partial_image_index: previews.length, size: '1024x1024', quality: 'low' })
    previews.push(event.partial_image_b64)
  }
  const call = itemOf(await stream.finalResponse(), 'image_generation_call')
  expect(call).toMatchObject({ status: 'completed', size: '1024x1024', quality: 'low', output_format: 'png' })
  const pictures = await Promise.all(
    [...previews, call.result!].map((base64) => decodeImage(Buffer.from(base64, 'base64'), 'image/png')),
  )
  expect(pictures.map(({ width, height }) => `${width}x${height}`)).toEqual(Array(2).fill('1024x1024'))
  expect(previews).not.toContain(call.result)
})

test('a forced tool that is not offered is refused, and more calls than the sandbox makes', async () => {
  const forced = create({ input: 'hi', tools: [weather], tool_choice: { type: 'file_search' } })
  await expect(forced).rejects.toMatchObject({ status: 400, param: 'tool_choice' })
  const many = create({ input: 'sandbox:image_generation '.repeat(20) })
  await expect(many).rejects.toMatchObject({ status: 400, code: 'sandbox_limit_exceeded' })
})

test('a call that fails is told, is not cited and has no results', async () => {
  for (const word of ['web_search', 'file_search', 'code_interpreter', 'image_generation', 'mcp'] as const) {
    const response = await create({ input: `Rivers sandbox:${word}:failed` })
    expect(itemOf(response, `${word}_call`)).toMatchObject({ status: 'failed' })
    expect(response.output_text).toMatch(/\[sandbox\] The .* failed\./)
    expect(annotationsOf(response)).toEqual([])
  }
})

test('scenarios of tools go with those of the answer', async () => {
  const cut = await create({ input: 'Rivers sandbox:web_search sandbox:length' })
  expect([cut.status, typesOf(cut)]).toEqual(['incomplete', ['web_search_call', 'message']])
  expect(annotationsOf(cut)).toEqual([])
  const refused = await create({ input: 'sandbox:web_search sandbox:refusal' })
  expect(typesOf(refused)).toEqual(['message'])
})

test('a remote server: listed once, approved, called under the id of the request', async () => {
  const { client } = await openaiClient()
  const tools = [{ ...server, allowed_tools: ['read_file', 'write_file'] }]
  const first = await client.responses.create({ input: 'Please write_file now', tools })
  const { tools: listed } = itemOf(first, 'mcp_list_tools')
  expect(listed.map(({ name }) => name)).toEqual(['read_file', 'write_file'])
  const asked = itemOf(first, 'mcp_approval_request')
  expect(asked).toMatchObject({ server_label: 'files', name: 'write_file' })
  const answer = { type: 'mcp_approval_response' as const, approval_request_id: asked.id }
  const next = { previous_response_id: first.id, tools }
  const second = await client.responses.create({ ...next, input: [{ ...answer, approve: true }] })
  expect(typesOf(second)).toEqual(['mcp_call', 'message'])
  const call = { approval_request_id: asked.id, name: 'write_file', arguments: asked.arguments }
  const done = { status: 'completed', output: expect.any(String), error: null }
  expect(itemOf(second, 'mcp_call')).toMatchObject({ ...call, ...done })
  const denied = await client.responses.create({ ...next, input: [{ ...answer, approve: false }] })
  expect(typesOf(denied)).toEqual(['message'])
  expect(denied.output_text).toContain('write_file was not approved')
  const never = { ...answer, approval_request_id: 'mcpr_never', approve: true }
  const strange = client.responses.create({ input: [never] })
  await expect(strange).rejects.toMatchObject({ status: 400, param: 'input' })
})

test('require_approval may name the tools that need it', async () => {
  const typesWith = async (rule: NonNullable<OpenAI.Responses.Tool.Mcp['require_approval']>) => {
    const tools = [{ ...server, allowed_tools: ['read_file'], require_approval: rule }]
    return typesOf(await create({ input: 'Rivers', tools, tool_choice: 'required' }))
  }
  expect(await typesWith({ never: { tool_names: ['read_file'] } })).toContain('mcp_call')
  expect(await typesWith({ never: { tool_names: ['other'] } })).not.toContain('mcp_call')
  expect(await typesWith({ always: { tool_names: ['read_file'] } })).not.toContain('mcp_call')
  expect(await typesWith({ always: { tool_names: ['other'] } })).toContain('mcp_call')
})

const screenshot = { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' } as const

test.for([
  ['function', 'function_call_output', { output: 'clear sky' }, 'clear sky'],
  ['function', 'function_call_output', { output: [{ type: 'input_text', text: 'clear sky' }] }, 'clear sky'],
  ['custom', 'custom_tool_call_output', { output: 'noted' }, 'noted'],
  ['computer', 'computer_call_output', { output: screenshot }, 'a screenshot'],
  ['local_shell', 'local_shell_call_output', { output: 'total 0' }, 'total 0'],
] as const)(
  'the output of a call of %s leads to a text that uses it',
  async ([word, type, output, quoted]) => {
    const { client } = await openaiClient()
    const first = await client.responses.create({ input: `Rivers sandbox:${word}` })
    const call = first.output[0] as { id: string; call_id: string }
    const id = type === 'local_shell_call_output' ? { id: call.id } : { call_id: call.call_id }
    const item = { type, ...id, ...output } as ResponseInputItem
    const chained = await client.responses.create({ previous_response_id: first.id, input: [item] })
    expect(typesOf(chained)).toEqual(['message'])
    expect(chained.output_text).toContain(`The tool answered: ${quoted}.`)
    const question = { role: 'user' as const, content: `Rivers sandbox:${word}` }
    const input = [question, ...(first.output as ResponseInputItem[]), item]
    expect((await client.responses.create({ input, store: false })).output_text).toContain(quoted)
  },
)
