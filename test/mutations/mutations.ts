/** A small wrong change that tests have to notice. */
export interface Mutation {
  readonly name: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly before: string
  readonly after: string
  /** Test files of which at least one has to fail. */
  readonly tests: readonly string[]
}

export const mutations: readonly Mutation[] = [
  {
    name: 'idempotency-digits-alike',
    file: 'src/gateway/idempotency-key.ts',
    before: `Array.from({ length: digits }, () => Math.floor(clock.random() * 16).toString(16)).join('')`,
    after: `Math.floor(clock.random() * 16).toString(16).repeat(digits)`,
    tests: ['test/gateway/idempotency-key.test.ts'],
  },
  {
    name: 'paid-video-not-sent',
    file: 'src/commands/video/save-videos.ts',
    before: `{ notSent: 'later', usage: 'io' }`,
    after: `{ usage: 'io' }`,
    tests: ['test/program/videos/results.test.ts'],
  },
  {
    name: 'video-copy-by-size',
    file: 'src/commands/video/save-videos.ts',
    before: `existing?.sha256 !== saved.sha256`,
    after: `existing?.bytes !== saved.bytes`,
    tests: ['test/program/videos/saved-earlier.test.ts'],
  },
  {
    name: 'place-opens-what-is-there',
    file: 'src/files/place-file.ts',
    before: `await open(final, 'wx')`,
    after: `await open(final, 'w')`,
    tests: ['test/files/atomic-file-faults.test.ts'],
  },
  {
    name: 'place-without-reservation',
    file: 'src/files/place-file.ts',
    before: `return await reserveAndReplace(context, temporary, final)`,
    after: `return await replace(context, temporary, final)`,
    tests: ['test/files/atomic-file-faults.test.ts'],
  },
  {
    name: 'base64-end-without-flush',
    file: 'src/gateway/images/base64-decoder.ts',
    before: `      await flush()\n      return total`,
    after: `      return total`,
    tests: ['test/gateway/images/base64-decoder.test.ts'],
  },
  {
    name: 'base64-without-limit',
    file: 'src/gateway/images/base64-decoder.ts',
    before: `if (total > maxDownloadBytes) throw imageTooLarge()`,
    after: ``,
    tests: ['test/gateway/images/base64-decoder.test.ts'],
  },
  {
    name: 'file-not-synced',
    file: 'src/files/temporary-file.ts',
    before: `await sync.finish()`,
    after: ``,
    tests: ['test/files/atomic-file.test.ts'],
  },
  {
    name: 'record-not-synced',
    file: 'src/files/jobs/job-folder.ts',
    before: `      await handle.sync()\n`,
    after: ``,
    tests: ['test/files/jobs/job-store-faults.test.ts'],
  },
  {
    name: 'sandbox-http-origin',
    file: 'src/sandbox/http/guard.ts',
    before: `headers.origin !== undefined`,
    after: `headers.origin?.startsWith('https:')`,
    tests: ['test/sandbox/hostile.test.ts'],
  },
  {
    name: 'sandbox-chunked-body',
    file: 'src/sandbox/http/read-body.ts',
    before: `if (size > maxRequestBytes) throw tooLarge()`,
    after: ``,
    tests: ['test/sandbox/hostile.test.ts'],
  },
  {
    name: 'redact-base64url',
    file: 'src/output/redact/forms.ts',
    before: `, bytes.toString('base64url').slice(start, end)]`,
    after: `]`,
    tests: ['test/output/redact.test.ts', 'test/output/redact-hostile.test.ts'],
  },
  {
    name: 'debug-key-headers',
    file: 'src/gateway/trace.ts',
    before: `/authorization|cookie|key|token|secret|signature/i`,
    after: `/authorization|cookie|token|secret|signature/i`,
    tests: ['test/gateway/send-request.test.ts'],
  },
  {
    name: 'weak-tag',
    file: 'src/gateway/download/transfer.ts',
    before: `/^"[`,
    after: `/^(?:W\\/)?"[`,
    tests: ['test/gateway/download.test.ts'],
  },
  {
    name: 'polling-certificate',
    file: 'src/gateway/videos/look-up-failures.ts',
    before: `  'not_sent_certificate',\n`,
    after: ``,
    tests: ['test/gateway/videos/wait-for-job.test.ts'],
  },
  {
    name: 'unknown-state-at-creation',
    file: 'src/gateway/videos/read-job.ts',
    before: `if (word !== undefined) return 'in_progress'`,
    after: `if (word !== undefined) return waiting`,
    tests: ['test/gateway/videos/read-job.test.ts', 'test/gateway/videos/start-job.test.ts'],
  },
  {
    name: 'message-pieces',
    file: 'src/gateway/events/event-reader.ts',
    before: `const maxPieces = 8`,
    after: `const maxPieces = 9`,
    tests: ['test/gateway/events/message-reader.test.ts'],
  },
  {
    name: 'second-signal-ignored',
    file: 'src/context/signals.ts',
    before: `return isCopy ? undefined : die(name)`,
    after: `return undefined`,
    tests: ['test/context/signals.test.ts'],
  },
  {
    name: 'signal-as-number',
    file: 'src/context/signals.ts',
    before: `      host.kill(host.pid, name)\n`,
    after: ``,
    tests: ['test/context/signals.test.ts'],
  },
  {
    name: 'version-epipe',
    file: 'bin/modelgate.js',
    before: `    if (code === 'EPIPE') return\n`,
    after: ``,
    tests: ['test/black-box/pipes.test.ts'],
  },
  {
    name: 'edit-17-images',
    file: 'src/contract/image-files.ts',
    before: `'image-model-a': {\n    maxCount: 16`,
    after: `'image-model-a': {\n    maxCount: 17`,
    tests: ['test/program/images/file-rules.test.ts'],
  },
  {
    name: 'edit-49-megabytes',
    file: 'src/contract/image-files.ts',
    before: `'image-model-a': {\n    maxCount: 16,\n    below: 50 * MB`,
    after: `'image-model-a': {\n    maxCount: 16,\n    below: 49 * MB`,
    tests: ['test/program/images/file-rules.test.ts'],
  },
  {
    name: 'all-of-exclusive-minimum',
    file: 'src/sandbox/schema/flatten.ts',
    before: `'minimum', 'exclusiveMinimum', 'minLength'`,
    after: `'minimum', 'minLength'`,
    tests: ['test/sandbox/schema/sample.test.ts'],
  },
  {
    name: 'all-of-exclusive-maximum',
    file: 'src/sandbox/schema/flatten.ts',
    before: `'maximum', 'exclusiveMaximum', 'maxLength'`,
    after: `'maximum', 'maxLength'`,
    tests: ['test/sandbox/schema/sample.test.ts'],
  },
  {
    name: 'all-of-two-minimums',
    file: 'src/sandbox/schema/flatten.ts',
    before: `Math.max(least, most)`,
    after: `Math.min(least, most)`,
    tests: ['test/sandbox/schema/sample.test.ts'],
  },
  {
    name: 'candidate-count',
    file: 'src/contract/generate-content.ts',
    before: `min: 1, max: 8, about: 'how many answers to generate'`,
    after: `min: 1, max: 9, about: 'how many answers to generate'`,
    tests: ['test/contract/field.test.ts'],
  },
  {
    name: 'sample-open-bound-as-true',
    file: 'src/sandbox/schema/sample-number.ts',
    before: `schema[exclusive] === true ? bound + nudge(schema, step) : bound`,
    after: `schema[exclusive] === true ? bound : bound`,
    tests: ['test/sandbox/schema/sample.test.ts'],
  },
  {
    name: 'no-http-is-a-creation',
    file: 'src/sandbox/faults/replace-reply.ts',
    before: `    case 'not-http':\n`,
    after: ``,
    tests: ['test/sandbox/hostile.test.ts'],
  },
]
