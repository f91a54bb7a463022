import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { formatLock } from '../../../src/pipeline/lock/lock-text.ts'
import { mistakesIn, read } from './manifest-files.ts'

const sha256 = 'a'.repeat(64)

function locked(path: string, mediaType: string, jobId: string | null = null): LockBlock {
  const facts = { sha256, bytes: 1, width: null, height: null, seconds: null, credentials: false }
  return {
    key: 'b'.repeat(64),
    outputs: [{ path, media_type: mediaType, ...facts }],
    fields: {},
    model: null,
    origin: null,
    request_id: null,
    job_id: jobId,
    usage: null,
    took_s: null,
    picked: null,
    adopted: null,
    prompt: null,
  }
}

const lock = formatLock(
  new Map([
    ['hero', locked('assets/hero.png', 'image/png')],
    ['clip', locked('clip.mp4', 'video/mp4', 'video_1')],
    ['photos[shoe]', locked('photos/shoe.png', 'image/png')],
  ]),
)

const importing = (reference: string, imports = 'shared/canon.yaml') => `version: 1
imports: [${imports}]
jobs:
  wide: { image edit: { prompt: x, image: ${JSON.stringify(reference)} }, out: wide.png }
`

test('a reference to an import has what its lock says', async () => {
  const manifest = await read(importing('@canon/hero'), { 'shared/canon.lock': lock })
  expect(manifest.instances.get('wide')!.references).toEqual([
    {
      kind: 'import',
      text: '@canon/hero',
      outputs: [
        { path: join(manifest.project.folder, 'shared/assets/hero.png'), sha256, mediaType: 'image/png' },
      ],
      jobId: null,
    },
  ])
})

test('a video of an import can be remixed', async () => {
  const manifest = `version: 1
imports: [canon.yaml]
jobs:
  night: { video remix: { model: sora-2, prompt: x, source: "@canon/clip" }, out: night.mp4 }
`
  const { instances } = await read(manifest, { 'canon.lock': lock })
  expect(instances.get('night')!.references).toMatchObject([{ kind: 'import', jobId: 'video_1' }])
})

test('a row of an import has its id in brackets', async () => {
  const { instances } = await read(importing('@canon/photos[shoe]'), { 'shared/canon.lock': lock })
  expect(instances.get('wide')!.references).toMatchObject([{ outputs: [{ sha256 }] }])
})

test.each<[what: string, manifest: string, mistake: string]>([
  [
    'what is not locked',
    importing('@canon/hreo'),
    '4:43: "@canon/hreo": the lock of shared/canon.yaml has no hreo; did you mean @canon/hero?',
  ],
  [
    'a result of another kind',
    importing('@canon/clip'),
    '4:43: "@canon/clip" is video/mp4; here belongs an image.',
  ],
  [
    'a candidate',
    importing('@canon/hero#2'),
    '4:43: "@canon/hero#2": an import has outputs, but no candidates.',
  ],
  [
    'another manifest',
    importing('@cannon/hero'),
    '4:43: "@cannon/hero": nothing is imported as cannon; did you mean @canon/hero?',
  ],
  [
    'itself',
    importing('@canon/hero', 'shared/canon.yaml, modelgate.yaml'),
    '2:30: A manifest cannot import itself.',
  ],
  [
    'two of one name',
    importing('@canon/hero', 'shared/canon.yaml, canon.yaml'),
    '2:30: shared/canon.yaml is imported as @canon already.',
  ],
  [
    'an absolute path',
    importing('@canon/hero', 'shared/canon.yaml, /canon.yaml'),
    '2:30: "/canon.yaml" must be relative to the manifest\'s folder.',
  ],
  [
    'nothing',
    importing('@canon/hero', 'shared/canon.yaml, none.yaml'),
    '2:30: Nothing is locked of none.yaml: run modelgate run -f none.yaml first.',
  ],
  [
    'a lock with conflict marks',
    importing('@canon/hero', 'shared/canon.yaml, torn.yaml'),
    '2:30: torn.lock:',
  ],
])('%s cannot be imported', async (_, manifest, mistake) => {
  const found = await mistakesIn(manifest, {
    'shared/canon.lock': lock,
    'torn.lock': '<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n',
  })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`modelgate.yaml:${mistake}`)
})
