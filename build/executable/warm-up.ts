import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const examples = join(import.meta.dirname, '../../examples')

/**
 * A call of each kind, in the order of what should be fast: the first that loads a chunk decides which of its functions
 * come compiled. All of them run in a copy of the examples, offline.
 */
const calls: readonly (readonly string[])[] = [
  ['--help'],
  ['generate', '--sandbox', 'hello'],
  ['respond', '--sandbox', '--json', 'hello'],
  ['respond', '--sandbox', '--schema', 'person.json', 'hello'],
  ['image', 'create', '--sandbox', '-o', 'boat.png', 'A boat'],
  ['image', 'create', '--sandbox', '--output-format', 'webp', '-o', 'boat.webp', 'A boat'],
  ['image', 'create', '--sandbox', '--output-format', 'jpeg', '-o', 'small-boat.jpg', 'A boat'],
  ['image', 'edit', '--sandbox', '-m', 'gpt-image-2', '--image', 'boat.webp', '-o', 'edit.png', 'At night'],
  ['image', 'edit', '--sandbox', '-m', 'gpt-image-2', '--image', 'boat.jpg', '-o', 'day.png', 'By day'],
  ['image', 'edit', '--sandbox', '-m', 'gpt-image-2', '--image', 'room.png', '-o', 'room-2.png', 'By day'],
  ['video', 'generate', '--sandbox', '-o', 'boat.mp4', 'A boat'],
  ['jobs'],
  ['run', '--sandbox'],
  ['run', '--plan'],
  ['run', 'report', '--sandbox'],
  ['models'],
  ['log'],
  ['usage'],
  ['inspect', 'boat.png'],
  ['config', 'list'],
  ['doctor', '--sandbox'],
  ['help', 'exit-codes'],
  ['help', '--json'],
  ['schema'],
  ['completion', 'bash'],
  ['__complete', 'zsh', 'image', 'create', '--profile', ''],
  ['__complete', 'bash', ' =:', 'modelgate wait '],
]

/**
 * Runs commands of an executable that records its compiled code.
 * @param folder a new one to work in
 * @param code the folder for what is recorded
 * @throws {Error} when a call fails: the executable is broken
 */
export function warmUp(executable: string, folder: string, code: string): void {
  cpSync(examples, folder, { recursive: true })
  cpSync(join(examples, 'pipelines/shop'), folder, { recursive: true })
  mkdirSync(code)
  const env = { HOME: folder, USERPROFILE: folder, MODELGATE_CODE: code }
  for (const words of calls) {
    const { status, signal, error, stderr } = spawnSync(executable, words, {
      cwd: folder,
      env,
      encoding: 'utf8',
    })
    if (status === 0) continue
    throw new Error(
      `modelgate ${words.join(' ')} ended with ${status ?? signal ?? error?.message}:\n${stderr}`,
    )
  }
}
