import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bigPng, largeVideoBytes } from './large-files.ts'
import { atLeast, atMost, type Measurement } from './measurement.ts'
import { memory } from './memory.ts'
import { hasCurl } from './peers.ts'
import { run, timeInTurns } from './timing.ts'
import { baseline, modelgate, type Workbench } from './workbench.ts'

const prompt = 'A big picture'

/** A reply of 100 MB saved, and an upload of 16 x 49 MB sent, against the official client, and curl; and the memory both take. */
export function measureImages(workbench: Workbench): Measurement[] {
  const { folder, url } = workbench
  const paths = Array.from({ length: 16 }, (_, index) => join(folder, `in-${index}.png`))
  const picture = bigPng(49_000_000)
  for (const path of paths) writeFileSync(path, picture)
  const image = (kind: string, to: string, ...more: readonly string[]) =>
    modelgate('image', kind, '-m', 'gpt-image-2', '--force', '-o', to, ...more, prompt)
  const create = image('create', 'ours-{index}.png', '-n', '4')
  const edit = image('edit', 'edited.png', ...paths.flatMap((path) => ['--image', path]))
  const fields = [
    'model=gpt-image-2',
    `prompt=${prompt}`,
    ...paths.map((path) => `image[]=@${path};type=image/png`),
  ]
  const curl = [
    'curl',
    '-sS',
    '--fail',
    `${url}/v1/images/edits`,
    ...fields.flatMap((field) => ['-F', field]),
  ]
  // They print paths or nothing.
  const inTurns = (words: readonly string[], other: readonly string[]) =>
    timeInTurns(workbench, { words }, { words: other }, 5)
  return [
    atLeast('reply of 100 MB / openai', inTurns(create, baseline('openai-images', url, folder, prompt)), 2.5),
    memory(workbench, 'reply of 100 MB, most memory', create, 140),
    atLeast(
      'upload of 16 x 49 MB / openai',
      inTurns(edit, baseline('openai-edit', url, prompt, ...paths)),
      1,
    ),
    ...(hasCurl(workbench) ? [atMost('upload of 16 x 49 MB / curl', inTurns(edit, curl), 1.4)] : []),
    memory(workbench, 'upload of 16 x 49 MB, most memory', edit, 130),
    works(workbench),
  ]
}

/** One reply of 700 MB: more than fits into a string. */
function works(workbench: Workbench): Measurement {
  const words = modelgate('image', 'create', '-m', 'bench-huge', '--force', '-o', 'huge.png', prompt)
  const { ms } = run(workbench, words, 'ignore')
  const facts = { figure: 'saved', bar: 'works', isMet: true, runs: { ours: [ms] } }
  return { name: 'reply of 700 MB', unit: 'ms', ours: ms, ...facts }
}

/** A video of 2 GB that is cut off in the middle once, and begun again. */
export function measureVideo(workbench: Workbench): Measurement[] {
  const words = modelgate('wait', 'bench-video', '--force', '-o', 'large.mp4')
  const measured = memory(workbench, 'video of 2 GB, cut once, most memory', words, 150)
  const { size } = statSync(join(workbench.folder, 'large.mp4'))
  if (size !== largeVideoBytes) throw new Error(`The video has ${size} bytes, not ${largeVideoBytes}.`)
  return [measured]
}
