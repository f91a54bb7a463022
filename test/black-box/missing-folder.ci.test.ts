import process from 'node:process'
import { expect, test } from 'vitest'
import { spawnProgram } from './spawn-program.ts'

/** Windows does not let a folder be removed that somebody is in. */
const canRemove = process.platform !== 'win32'
const inRemovedFolder = (words: string) =>
  spawnProgram([], { shell: `mkdir gone && cd gone && rmdir ../gone && modelgate ${words}` }).ended

test.runIf(canRemove).each(['--version', 'help exit-codes', 'completion bash'])(
  '%s needs no working directory',
  async (words) => {
    const { exit, stdout, stderr } = await inRemovedFolder(words)
    expect([exit, stdout.length > 0, stderr]).toEqual([0, true, ''])
  },
)

test.runIf(canRemove).each(['generate --sandbox x', 'image edit --sandbox --image a.png x'])(
  '%s says that the working directory has been removed',
  async (words) => {
    const { exit, stdout, stderr } = await inRemovedFolder(words)
    expect([exit, stdout.toString()]).toEqual([10, ''])
    expect(stderr).toMatch(/^modelgate: .*The working directory no longer exists\./)
    expect(stderr).not.toMatch(/^ +at /m)
  },
)
