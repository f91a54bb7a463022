import { expect, test } from 'vitest'
import { OutputClosed } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { sampleEvents } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

type Settings = Partial<OutputOptions> & { readonly terminal?: boolean }

/** Every event on its own through a renderer: `>` standard output, `!` standard error, with marks for line ends. */
async function table({ terminal = false, ...options }: Settings): Promise<string> {
  const rows: string[] = []
  for (const event of Object.values(sampleEvents) as OutputEvent[]) {
    const context = testContext({ terminal, env: { NO_COLOR: '1' } })
    const resume = (id: string) => `modelgate wait ${id}`
    const output = createOutput(context, { quiet: false, usage: false, resume, ...options })
    if (options.mode === 'jsonl' && event.type !== 'start') output.event(sampleEvents.start)
    const before = context.stdout.text.length
    output.event(event)
    await output.flush()
    await output.error(closed)
    const [out, err] = [context.stdout.text.slice(before), context.stderr.text]
    if (out !== '') rows.push(`${event.type} > ${visible(out)}`)
    if (err !== '') rows.push(`${event.type} ! ${visible(err)}`)
  }
  return `\n${rows.join('\n')}\n`
}

const closed = new OutputClosed()
const visible = (text: string) => text.replaceAll('\n', '⏎')

test('plain: the text alone on standard output, a line about the rest', async () => {
  expect(await table({})).toMatchInlineSnapshot(`
    "
    text-delta > Hello
    refusal-delta ! refusal: I cannot.⏎
    tool-call ! tool call: weather({"city":"Paris"})⏎
    code-run ! code (python): x = 1 print(x)⏎
    code-result ! code result (ok): 1⏎
    citation-add ! citation: Example <https://example.com/>⏎
    item-add ! web search: rivers⏎
    safety-report ! safety: HARM_CATEGORY_HARASSMENT MEDIUM⏎
    prompt-block ! prompt blocked (SAFETY)⏎
    image-data ! image (image/png)⏎
    file-save ! saved a.png (8 bytes)⏎
    retry-wait ! retry in 2 s (2 left): too many requests (HTTP 429)⏎
    image-partial ! image 1 of 2: preview 1 of 2⏎
    image-save ! image 1 of 2: 4x3 png, 8 bytes⏎
    image-link ! image 1: link expires at 2023-11-14T23:13:20.000Z⏎
    image-fail ! image 2 failed: It expired.⏎
    job-create ! job started; resume with: modelgate wait video_1⏎
    job-progress ! job: in_progress (gateway says "running"), 40%, after 0:20, ~0:30 left⏎
    poll-fail ! look-up failed, next in 3 s: bad gateway (HTTP 502)⏎
    download-progress ! video 1: downloading, 50% of 10 B⏎
    video-save ! video 1: 1280x720 mp4, 4 s, 8 bytes⏎
    video-fail ! video 2 failed: It was filtered.⏎
    job-fail ! job video_1: It was filtered.⏎
    warning-add ! warning: user is deprecated⏎
    "
  `)
})

test('terminal: as plain, with the reasoning on standard error', async () => {
  const [text, reasoning] = ['text-delta > Hello\n', 'reasoning-delta ! They greet.⏎\n']
  expect(await table({ terminal: true })).toBe((await table({})).replace(text, text + reasoning))
})

test('json: only warnings and the state of a job are printed before the document', async () => {
  expect(await table({ mode: 'json' })).toMatchInlineSnapshot(`
    "
    retry-wait ! retry in 2 s (2 left): too many requests (HTTP 429)⏎
    image-fail ! image 2 failed: It expired.⏎
    job-create ! job started; resume with: modelgate wait video_1⏎
    job-progress ! job: in_progress (gateway says "running"), 40%, after 0:20, ~0:30 left⏎
    poll-fail ! look-up failed, next in 3 s: bad gateway (HTTP 502)⏎
    download-progress ! video 1: downloading, 50% of 10 B⏎
    video-fail ! video 2 failed: It was filtered.⏎
    job-fail ! job video_1: It was filtered.⏎
    warning-add ! warning: user is deprecated⏎
    "
  `)
})

test('jsonl: every event is a line', async () => {
  expect(await table({ mode: 'jsonl' })).toMatchInlineSnapshot(`
    "
    start > {"type":"start","version":1,"command":"generate","model":"text-model"}⏎
    text-delta > {"type":"text-delta","index":0,"text":"Hello"}⏎
    reasoning-delta > {"type":"reasoning-delta","text":"They greet."}⏎
    refusal-delta > {"type":"refusal-delta","text":"I cannot."}⏎
    tool-delta > {"type":"tool-delta","index":0,"name":"weather","arguments":"{\\"ci"}⏎
    tool-call > {"type":"tool-call","index":0,"call":{"type":"function","id":"call_1","name":"weather","arguments":{"city":"Paris"}}}⏎
    code-run > {"type":"code-run","language":"python","code":"x = 1\\nprint(x)"}⏎
    code-result > {"type":"code-result","outcome":"ok","output":"1"}⏎
    citation-add > {"type":"citation-add","citation":{"url":"https://example.com/","title":"Example","start":0,"end":5,"license":null,"file_id":null}}⏎
    item-add > {"type":"item-add","kind":"web search","summary":"rivers","item":{"type":"web_search_call"}}⏎
    safety-report > {"type":"safety-report","ratings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"MEDIUM"}]}⏎
    prompt-block > {"type":"prompt-block","reason":"SAFETY","message":null}⏎
    image-data > {"type":"image-data","mime_type":"image/png","base64":"iVBORw0KGgo=","partial":false}⏎
    file-save > {"type":"file-save","file":{"path":"a.png","bytes":8,"sha256":"abababababababababababababababababababababababababababababababab","mime_type":"image/png"}}⏎
    retry-wait > {"type":"retry-wait","attempt":1,"attempts_left":2,"wait_s":2,"http_status":429,"reason":"too many requests"}⏎
    retry-wait ! retry in 2 s (2 left): too many requests (HTTP 429)⏎
    upload-progress > {"type":"upload-progress","sent":5,"total":10}⏎
    image-partial > {"type":"image-partial","index":1,"count":2,"partial":0,"partials":2,"file":null}⏎
    image-save > {"type":"image-save","index":1,"count":2,"file":{"path":"a.png","bytes":8,"sha256":"abababababababababababababababababababababababababababababababab","mime_type":"image/png","format":"png","width":4,"height":3,"revised_prompt":null,"verified":true,"existing":false}}⏎
    image-link > {"type":"image-link","link":{"index":1,"url":"https://gateway.example/a.png","expires_at":1700003600}}⏎
    image-fail > {"type":"image-fail","failure":{"index":2,"code":"url_expired","message":"It expired.","rescued":null}}⏎
    image-fail ! image 2 failed: It expired.⏎
    job-create > {"type":"job-create","id":"video_1","kind":"video"}⏎
    job-create ! job started; resume with: modelgate wait video_1⏎
    job-progress > {"type":"job-progress","id":"video_1","state":"in_progress","status":"running","progress":40,"elapsed_s":20,"remaining_s":30}⏎
    poll-fail > {"type":"poll-fail","id":"video_1","attempt":1,"wait_s":3,"http_status":502,"reason":"bad gateway (HTTP 502)"}⏎
    poll-fail ! look-up failed, next in 3 s: bad gateway (HTTP 502)⏎
    download-progress > {"type":"download-progress","id":"video_1","index":1,"received":5,"total":10}⏎
    video-save > {"type":"video-save","id":"video_1","index":1,"file":{"path":"a.mp4","bytes":8,"sha256":"abababababababababababababababababababababababababababababababab","mime_type":"video/mp4","format":"mp4","width":1280,"height":720,"seconds":4,"verified":true}}⏎
    video-fail > {"type":"video-fail","id":"video_1","failure":{"index":2,"code":"filtered","message":"It was filtered.","rescued":null}}⏎
    video-fail ! video 2 failed: It was filtered.⏎
    job-fail > {"type":"job-fail","id":"video_1","code":"filtered","message":"It was filtered."}⏎
    job-fail ! job video_1: It was filtered.⏎
    job-list > {"type":"job-list","job":{"id":null,"kind":"operation","state":"unknown","status":null,"progress":null,"model":"video-model","prompt":"a paper boat","base_url":"https://gateway.example","is_sandbox":false,"idempotency_key":"key_1","created_at":1700000000,"checked_at":null,"completed_at":null,"expires_at":null,"files":["a.mp4"]}}⏎
    model-list > {"type":"model-list","model":{"id":"gpt-image-2","kind":"image","family":"gpt-image-2","about":"any size within a rule","source":"built-in","retires":"2026-12-01","retired":false,"nearest":null,"endpoints":[{"command":"image create","limits":[{"field":"size","taken":true,"values":["auto"],"size":{"multiple_of":16,"max_ratio":3,"max_edge":3840,"min_pixels":655360,"max_pixels":8294400},"min":null,"max":null,"max_length":null}]}],"sources":{"max_count":16,"below_bytes":50000000,"media_types":["image/png"],"square":false},"listed":{"name":null,"owner":"vendor","created_at":1700000000,"input_tokens":null,"output_tokens":1024,"methods":[]}}}⏎
    file-inspect > {"type":"file-inspect","file":{"path":"boat.png","bytes":1234,"sha256":"abababababababababababababababababababababababababababababababab","mime_type":"image/png","width":1024,"height":1024,"seconds":null,"alpha":false,"integrity":"whole","damage":null,"credentials":true,"made_with":{"sidecar":"boat.png.json","log_number":3,"path":null,"time":"2026-01-01T00:00:00.000Z","command":"image create","model":"image-model","prompt":"A paper boat","revised_prompt":null,"request_id":"req_1","again":"modelgate image create \\"A boat\\""}}}⏎
    file-fail > {"type":"file-fail","failure":{"path":"gone.png","code":"not_found","message":"\\"gone.png\\" cannot be read: it does not exist."}}⏎
    check-end > {"type":"check-end","check":{"name":"base URL","verdict":"failed","message":"it does not answer","remedy":"Check the base URL.","exit_code":6}}⏎
    call-list > {"type":"call-list","call":{"number":1,"id":"log_0123456789abcdef","time":"2026-11-22T09:00:00.000Z","duration_ms":1200,"command":"image edit","cwd":"/home/a b","terminal":"tty","sandbox":false,"origin":"https://gateway.example","profile":"work","model":"image-model-a","exit_code":12,"error":{"code":"some_images_failed","message":"One image failed.","billed":"yes"},"request_id":"req_1","finish_reason":null,"usage":{"input_tokens":3},"created":{"images":{"count":1,"size":"1024x1024"}},"jobs":["video_1"],"inputs":[{"path":"/home/a b/in.png","bytes":9,"field":"mask"}],"prompt":"A boat","again":"modelgate image edit \\"A boat\\"","files":[{"path":"/home/a b/boat.png","bytes":5,"sha256":"abababababababababababababababababababababababababababababababab","format":"png","width":1024,"height":1024,"seconds":null}]}}⏎
    warning-add > {"type":"warning-add","message":"user is deprecated"}⏎
    warning-add ! warning: user is deprecated⏎
    plan-make > {"type":"plan-make","run":"20261122-1","folder":"/work/shop","part":null,"instances":2,"states":{"fresh":0,"restorable":0,"changed":0,"in_the_way":0,"stale":0,"new":2,"rejected":0,"lost":0,"awaiting":0,"unfetched":0,"unknown":0,"blocked":0,"pending":0},"lanes":[{"lane":"image","to_make":2,"concurrency":4}],"creates":{"planned":2,"made":0,"limit":40},"estimate":{"amount":0.08,"currency":"USD","estimate":true,"reason":null}}⏎
    instance-start > {"type":"instance-start","instance":"hero","lane":"image","variant":1,"attempt":1,"resumed":false}⏎
    instance-progress > {"type":"instance-progress","instance":"teaser","variant":1,"state":"in_progress","percent":45}⏎
    instance-end > {"type":"instance-end","instance":"hero","job":"hero","at":"modelgate.yaml:8:3","command":"image create","model":"gpt-image-2","lane":"image","output":"assets/hero.webp","state":"fresh","action":"generated","key":"1111111111111111111111111111111111111111111111111111111111111111","reasons":["prompt changed"],"creates":1,"files":[{"path":"assets/hero.webp","bytes":48213,"sha256":"0000000000000000000000000000000000000000000000000000000000000000","mime_type":"image/webp","width":1536,"height":1024,"seconds":null}],"placed":true,"took_s":12.5,"cost":{"amount":0.04,"currency":"USD","estimate":true,"reason":null},"error":null}⏎
    lane-change > {"type":"lane-change","lane":"image","concurrency":2,"pause_s":20,"reason":"The gateway asks to wait."}⏎
    circuit-change > {"type":"circuit-change","open":true,"reason":"Five failures in a row."}⏎
    worker-start > {"type":"worker-start","worker":"host-1234-0a1b2c3d","queue":"redis://queue:6379","store":"s3://bucket/assets","sandbox":false,"lanes":[{"lane":"text","concurrency":8},{"lane":"image","concurrency":4}],"rate":"20/s"}⏎
    task-start > {"type":"task-start","instance":"photos[shoe]","run":"20261122T120000000-0000abcd","key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","lane":"image","creates":1,"attempt":1}⏎
    task-end > {"type":"task-end","instance":"photos[shoe]","run":"20261122T120000000-0000abcd","key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","lane":"image","creates":1,"outcome":"failed","outputs":0,"bytes":0,"took_s":null,"again_s":null,"error":{"code":"rejected","exit_code":4,"billed":"no","message":"The gateway refused it."}}⏎
    "
  `)
})

test('raw: as plain, but no event reaches standard output', async () => {
  expect(await table({ mode: 'raw' })).toBe((await table({})).replace('text-delta > Hello\n', ''))
})

test.each([{}, { terminal: true }, { mode: 'json' }, { mode: 'raw' }, { mode: 'jsonl' }] as const)(
  'quiet: nothing on standard error (%j)',
  async (settings) => {
    const printed = (await table({ ...settings, quiet: true })).split('\n').filter((row) => / ! /.test(row))
    expect(printed).toEqual([])
  },
)
