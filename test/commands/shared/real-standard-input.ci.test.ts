import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const child = join(import.meta.dirname, 'read-prompt-child.ts')

/** Runs the child; resolves when it has ended, which it must do by itself. */
async function run(
  prompt: string,
  timeout: number,
  feed: (stdin: NodeJS.WritableStream, stderr: NodeJS.ReadableStream) => void,
) {
  const spawned = spawn(process.execPath, [child, prompt, String(timeout)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void spawned.kill('SIGKILL'))
  spawned.stdin.on('error', () => {})
  feed(spawned.stdin, spawned.stderr)
  const [result, notices] = await Promise.all([textOf(spawned.stdout), textOf(spawned.stderr)])
  return { ...(JSON.parse(result) as { prompt?: string; code?: string }), notices }
}

test('a pipe that stays open and silent does not keep the program alive', async () => {
  expect(await run('asked', 0.01, () => {})).toEqual({ code: 'stdin_silent', notices: '' })
})

test('the notice comes while waiting', async () => {
  const { prompt, notices } = await run('asked', 0, (stdin, stderr) => {
    stderr.once('data', () => stdin.end('late'))
  })
  expect(prompt).toBe('late\n\nasked')
  expect(notices).toContain('--no-stdin')
})

test('a pipe is read whole', async () => {
  const text = 'grün 😀\n'.repeat(100_000)
  const { prompt } = await run('', 0, (stdin) => stdin.end(text))
  expect(prompt).toBe(text)
})

test('a regular file and /dev/null never wait', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'a'), 'from a file')
  const prompts: unknown[] = []
  for (const path of [join(folder, 'a'), '/dev/null']) {
    const descriptor = openSync(path, 'r')
    const spawned = spawn(process.execPath, [child, 'asked', '0'], { stdio: [descriptor, 'pipe', 'inherit'] })
    prompts.push(JSON.parse(await textOf(spawned.stdout!)))
    closeSync(descriptor)
  }
  expect(prompts).toEqual([{ prompt: 'from a file\n\nasked' }, { prompt: 'asked' }])
})
