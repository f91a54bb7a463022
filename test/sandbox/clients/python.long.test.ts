import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'

const script = fileURLToPath(new URL('python_clients.py', import.meta.url))

// Each with what its script checks. Both clients come by pip.
test.for([
  ['openai', 'openai', ['text', 'streams', 'structured_output', 'background', 'errors', 'images', 'videos']],
  [
    'google-genai',
    'google.genai',
    ['text', 'media', 'structured_output', 'automatic_function_calls', 'pictures', 'videos'],
  ],
] as const)('the Python client %s', async ([name, module, titles], { skip }) => {
  skip(spawnSync('python3', ['-c', `import ${module}`]).status !== 0, `needs python3 with ${name}`)
  const { url } = await runningSandbox()
  const { stdout } = await promisify(execFile)('python3', ['-W', 'ignore', script, url, name])
  expect(stdout.trim().split('\n')).toEqual(titles)
})
