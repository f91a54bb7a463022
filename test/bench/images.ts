import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bigPng } from './big-png.ts'
import type { Measurement } from './measurement.ts'
import { atLeast, atMost } from './ratio.ts'
import { memory } from './memory.ts'
import { hasCurl } from './peers.ts'
import { run, timeInTurns } from './timing.ts'
import { baseline, modelgate, type Workbench } from './workbench.ts'

const runs = 5
const uploads = 16
const uploadBytes = 49_000_000
const prompt = 'A big picture'

/** A reply of 100 MB saved, and an upload of 16 x 49 MB sent, against the official client, and curl; and the memory both take. */
export function measureImages(workbench: Workbench): Measurement[] {
  const create = modelgate(
    'image',
    'create',
    '-m',
    'gpt-image-2',
    '-n',
    '4',
    '--force',
    '-o',
    'ours-{index}.png',
    prompt,
  )
  const paths = Array.from({ length: uploads }, (_, index) => join(workbench.folder, `in-${index}.png`))
  const picture = bigPng(uploadBytes)
  for (const path of paths) writeFileSync(path, picture)
  const edit = modelgate(
    'image',
    'edit',
    '-m',
    'gpt-image-2',
    '--force',
    '-o',
    'edited.png',
    ...paths.flatMap((path) => ['--image', path]),
    prompt,
  )
  const officialCreate = baseline('openai-images', workbench.url, workbench.folder, prompt)
  const officialEdit = baseline('openai-edit', workbench.url, prompt, ...paths)
  const curl = [
    'curl',
    '-sS',
    '--fail',
    `${workbench.url}/v1/images/edits`,
    '-F',
    'model=gpt-image-2',
    '-F',
    `prompt=${prompt}`,
    ...paths.flatMap((path) => ['-F', `image[]=@${path};type=image/png`]),
  ]
  // They print paths or nothing.
  const inTurns = (words: readonly string[], other: readonly string[]) =>
    timeInTurns(workbench, { words }, { words: other }, runs)
  return [
    atLeast('reply of 100 MB / openai', inTurns(create, officialCreate), 2.5),
    memory(workbench, 'reply of 100 MB, most memory', create, 140),
    atLeast('upload of 16 x 49 MB / openai', inTurns(edit, officialEdit), 1),
    ...(hasCurl(workbench) ? [atMost('upload of 16 x 49 MB / curl', inTurns(edit, curl), 1.4)] : []),
    memory(workbench, 'upload of 16 x 49 MB, most memory', edit, 130),
    works(workbench),
  ]
}

/** One reply of 700 MB: more than fits into a string. */
function works(workbench: Workbench): Measurement {
  const words = modelgate('image', 'create', '-m', 'bench-huge', '--force', '-o', 'huge.png', prompt)
  const { ms } = run(workbench, words, 'ignore')
  return {
    name: 'reply of 700 MB',
    unit: 'ms',
    ours: ms,
    figure: 'saved',
    bar: 'works',
    isMet: true,
    runs: { ours: [ms] },
  }
}
