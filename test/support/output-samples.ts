import type { Check, ChecksDocument, KeysDocument } from '../../src/events/checks.ts'
import type { PlacesDocument, SettingsDocument } from '../../src/events/setting.ts'
import type { Inspection, InspectionDocument } from '../../src/events/inspection.ts'
import type { CallDocument, CallSummary, LogClearDocument, LogDocument } from '../../src/events/call.ts'
import type { JobListDocument, JobSummary, VideoDocument, VideosDocument } from '../../src/events/video.ts'
import type { ModelEntry, ModelsDocument } from '../../src/events/model.ts'
import type { TextDocument } from '../../src/events/text.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { sampleWorkerEvents } from './worker-samples.ts'
import { sampleRunEvents } from './run-samples.ts'

/** What most documents hold. */
const documentOf = <Command extends string>(command: Command) => ({
  version: 1 as const,
  command,
  warnings: [] as string[],
})
const sha256 = 'ab'.repeat(32)
const pngFile = { path: 'a.png', bytes: 8, sha256, mime_type: 'image/png' }

const sampleJob: JobSummary = {
  id: null,
  kind: 'operation',
  state: 'unknown',
  status: null,
  progress: null,
  model: 'video-model',
  prompt: 'a paper boat',
  base_url: 'https://gateway.example',
  is_sandbox: false,
  idempotency_key: 'key_1',
  created_at: 1_700_000_000,
  checked_at: null,
  completed_at: null,
  expires_at: null,
  files: ['a.mp4'],
}

const sampleCheck: Check = {
  name: 'base URL',
  verdict: 'failed',
  message: 'it does not answer',
  remedy: 'Check the base URL.',
  exit_code: 6,
}

const sampleModel: ModelEntry = {
  id: 'gpt-image-2',
  kind: 'image',
  family: 'gpt-image-2',
  about: 'any size within a rule',
  source: 'built-in',
  retires: '2026-12-01',
  retired: false,
  nearest: null,
  endpoints: [
    {
      command: 'image create',
      limits: [
        {
          field: 'size',
          taken: true,
          values: ['auto'],
          size: { multiple_of: 16, max_ratio: 3, max_edge: 3840, min_pixels: 655_360, max_pixels: 8_294_400 },
          min: null,
          max: null,
          max_length: null,
        },
      ],
    },
  ],
  sources: { max_count: 16, below_bytes: 50_000_000, media_types: ['image/png'], square: false },
  listed: {
    name: null,
    owner: 'vendor',
    created_at: 1_700_000_000,
    input_tokens: null,
    output_tokens: 1024,
    methods: [],
  },
}

/** One of every event. */
const sampleCall: CallSummary = {
  id: '0123456789abcdef',
  time: '2026-11-22T09:00:00.000Z',
  duration_ms: 1200,
  command: 'image edit',
  cwd: '/home/a b',
  terminal: 'tty',
  sandbox: false,
  origin: 'https://gateway.example',
  profile: 'work',
  model: 'image-model-a',
  exit_code: 12,
  error: { code: 'some_failed', message: 'One image failed.', billed: 'yes' },
  request_id: 'req_1',
  finish_reason: null,
  usage: { input_tokens: 3 },
  created: { images: { count: 1, size: '1024x1024' } },
  jobs: ['video_1'],
  rescued: ['/home/a b/rescued.png'],
  inputs: [{ path: '/home/a b/in.png', bytes: 9, field: 'mask' }],
  prompt: 'A boat',
  again: 'modelgate image edit "A boat"',
  files: [
    {
      path: '/home/a b/boat.png',
      bytes: 5,
      sha256,
      format: 'png',
      width: 1024,
      height: 1024,
      seconds: null,
    },
  ],
}

export const sampleLog: LogDocument = {
  ...documentOf('log'),
  calls: [
    sampleCall,
    { ...sampleCall, error: null, prompt: null, inputs: [{ ...sampleCall.inputs[0]!, field: null }] },
  ],
}

export const sampleCallDocument: CallDocument = {
  ...documentOf('log show'),
  call: {
    ...sampleCall,
    files: sampleCall.files.map((file) => ({ ...file, state: 'unchanged' })),
    arguments: ['image', 'edit'],
    request: { prompt: 'A boat' },
    reply: null,
  },
}

export const sampleClearing: LogClearDocument = { ...documentOf('log clear'), removed: 3 }

const sampleInspection: Inspection = {
  path: 'boat.png',
  bytes: 1234,
  sha256,
  mime_type: 'image/png',
  width: 1024,
  height: 1024,
  seconds: null,
  alpha: false,
  integrity: 'whole',
  damage: null,
  credentials: true,
  made_with: {
    sidecar: 'boat.png.json',
    log_id: '0123456789abcdef',
    path: null,
    time: '2026-01-01T00:00:00.000Z',
    command: 'image create',
    model: 'image-model',
    prompt: 'A paper boat',
    revised_prompt: null,
    request_id: 'req_1',
    again: 'modelgate image create "A boat"',
  },
}

export const sampleEvents = {
  start: { type: 'start', version: 1, command: 'generate', model: 'text-model' },
  'text-delta': { type: 'text-delta', index: 0, text: 'Hello' },
  'reasoning-delta': { type: 'reasoning-delta', text: 'They greet.' },
  'refusal-delta': { type: 'refusal-delta', text: 'I cannot.' },
  'tool-delta': { type: 'tool-delta', index: 0, name: 'weather', arguments: '{"ci' },
  'tool-call': {
    type: 'tool-call',
    index: 0,
    call: { type: 'function', id: 'call_1', name: 'weather', arguments: { city: 'Paris' } },
  },
  'code-run': { type: 'code-run', language: 'python', code: 'x = 1\nprint(x)' },
  'code-result': { type: 'code-result', outcome: 'ok', output: '1' },
  'citation-add': {
    type: 'citation-add',
    citation: {
      url: 'https://example.com/',
      title: 'Example',
      start: 0,
      end: 5,
      license: null,
      file_id: null,
    },
  },
  'item-add': { type: 'item-add', kind: 'web search', summary: 'rivers', item: { type: 'web_search_call' } },
  'safety-report': {
    type: 'safety-report',
    ratings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'MEDIUM' }],
  },
  'prompt-block': { type: 'prompt-block', reason: 'SAFETY', message: null },
  'image-data': { type: 'image-data', mime_type: 'image/png', base64: 'iVBORw0KGgo=', partial: false },
  'file-save': { type: 'file-save', file: pngFile },
  'retry-wait': {
    type: 'retry-wait',
    attempt: 1,
    attempts_left: 2,
    wait_s: 2,
    http_status: 429,
    reason: 'too many requests',
  },
  'upload-progress': { type: 'upload-progress', sent: 5, total: 10 },
  'image-partial': { type: 'image-partial', index: 1, count: 2, partial: 0, partials: 2, file: null },
  'image-save': {
    type: 'image-save',
    index: 1,
    count: 2,
    file: {
      ...pngFile,
      format: 'png',
      width: 4,
      height: 3,
      revised_prompt: null,
      verified: true,
      existing: false,
    },
  },
  'image-link': {
    type: 'image-link',
    link: { index: 1, url: 'https://gateway.example/a.png', expires_at: 1_700_003_600 },
  },
  'image-fail': {
    type: 'image-fail',
    failure: { index: 2, code: 'url_expired', message: 'It expired.', rescued: null },
  },
  'job-create': { type: 'job-create', id: 'video_1', kind: 'video' },
  'job-progress': {
    type: 'job-progress',
    id: 'video_1',
    state: 'in_progress',
    status: 'running',
    progress: 40,
    elapsed_s: 20,
    remaining_s: 30,
  },
  'poll-fail': {
    type: 'poll-fail',
    id: 'video_1',
    attempt: 1,
    wait_s: 3,
    http_status: 502,
    reason: 'bad gateway (HTTP 502)',
  },
  'download-progress': { type: 'download-progress', id: 'video_1', index: 1, received: 5, total: 10 },
  'video-save': {
    type: 'video-save',
    id: 'video_1',
    index: 1,
    file: {
      ...pngFile,
      path: 'a.mp4',
      mime_type: 'video/mp4',
      format: 'mp4',
      width: 1280,
      height: 720,
      seconds: 4,
      verified: true,
    },
  },
  'video-fail': {
    type: 'video-fail',
    id: 'video_1',
    failure: { index: 2, code: 'content_refused', message: 'It was filtered.', rescued: null },
  },
  'job-fail': { type: 'job-fail', id: 'video_1', code: 'content_refused', message: 'It was filtered.' },
  'job-list': { type: 'job-list', job: sampleJob },
  'model-list': { type: 'model-list', model: sampleModel },
  'file-inspect': { type: 'file-inspect', file: sampleInspection },
  'file-fail': {
    type: 'file-fail',
    failure: {
      path: 'gone.png',
      code: 'not_found',
      message: '"gone.png" cannot be read: it does not exist.',
    },
  },
  'check-end': { type: 'check-end', check: sampleCheck },
  'call-list': { type: 'call-list', call: sampleCall },
  'warning-add': { type: 'warning-add', message: 'user is deprecated' },
  ...sampleRunEvents,
  ...sampleWorkerEvents,
} as const satisfies { readonly [Type in OutputEvent['type']]: Extract<OutputEvent, { type: Type }> }

export const sampleDocument: TextDocument = {
  ...documentOf('generate'),
  model: 'text-model',
  text: 'Hello',
  extracted: null,
  finish_reason: 'stop',
  tool_calls: [{ type: 'function', id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  usage: { input_tokens: 3, cached_tokens: 0, output_tokens: 5, reasoning_tokens: null, total_tokens: 8 },
  cost: null,
  request_id: 'req_1',
  response: { candidates: [] },
  reasoning: '',
  refusal: '',
  candidates: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
  citations: [],
  files: [],
  id: 'text_1',
  state: null,
}

export const sampleVideoDocument: VideoDocument = {
  ...documentOf('wait'),
  model: 'video-model',
  id: 'video_1',
  kind: 'video',
  state: 'completed',
  status: 'completed',
  progress: 100,
  seconds: '4',
  size: '1280x720',
  remixed_from_video_id: 'video_0',
  created_at: 1_700_000_000,
  completed_at: 1_700_000_060,
  expires_at: 1_800_000_000,
  video: { id: 'video_1', object: 'video', status: 'completed', unheard_of: { of: [1, null] } },
  cost: null,
  operation: null,
  files: [sampleEvents['video-save'].file],
  failures: [sampleEvents['video-fail'].failure],
  mismatches: [{ index: 1, field: 'durationSeconds', asked: '8', came: '4' }],
  request_id: 'req_1',
  warnings: ['odd'],
}

export const sampleModels: ModelsDocument = {
  ...documentOf('models'),
  gateway: 'https://gateway.example/',
  models: [sampleModel],
  request_id: 'req_1',
}

const { version: _, command: __, cost: ___, ...sampleOutcome } = sampleVideoDocument

/** One job that came to its end, and one of which nothing was heard. */
export const sampleVideosDocument: VideosDocument = {
  ...documentOf('wait'),
  videos: [
    { ...sampleOutcome, error: null },
    {
      ...sampleOutcome,
      id: 'video_2',
      state: 'unknown',
      video: null,
      files: [],
      error: { code: 'no_such_job', message: 'The gateway knows no video video_2.' },
    },
  ],
  warnings: ['video_1: odd'],
}

export const sampleJobList: JobListDocument = { ...documentOf('jobs'), jobs: [sampleJob] }

export function textDelta(text: string, index = 0): OutputEvent {
  return { type: 'text-delta', index, text }
}

export const sampleInspections: InspectionDocument = {
  ...documentOf('inspect'),
  files: [sampleInspection, { ...sampleInspection, made_with: null }],
  failures: [sampleEvents['file-fail'].failure],
  warnings: ['odd'],
}

export const sampleSettings: SettingsDocument = {
  version: 1,
  command: 'config list',
  profile: 'default',
  settings: [
    {
      name: 'timeout',
      value: 5,
      hidden: false,
      level: 'user',
      source: 'user file /home/config.yaml',
      file: '/home/config.yaml',
      line: 3,
      env: 'MODELGATE_TIMEOUT',
      flag: '--timeout',
      about: 'seconds for the whole request, or for a wait',
    },
  ],
}

export const samplePlaces: PlacesDocument = {
  version: 1,
  command: 'config path',
  places: [{ name: 'project file', path: null, exists: false }],
}

export const sampleKeys: KeysDocument = {
  version: 1,
  command: 'auth status',
  profiles: [
    {
      profile: 'default',
      current: true,
      source: 'environment MODELGATE_API_KEY',
      last_four: '6789',
      stored: false,
      base_url: null,
      problem: null,
      warning: null,
      check: { state: 'accepted', message: 'accepted' },
    },
  ],
}

export const sampleChecks: ChecksDocument = {
  version: 1,
  command: 'doctor',
  verdict: 'failed',
  program: '0.1.0',
  platform: 'linux x64',
  checks: [sampleCheck],
}
