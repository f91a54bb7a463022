import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { embeddedText } from './embedded-text.build.ts'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string
}

const slow = 'test/**/*.slow.test.ts'

export default defineConfig({
  // Before the plugins that take each style sheet for one of a page.
  plugins: [{ ...embeddedText(), enforce: 'pre' }],
  define: { __VERSION__: JSON.stringify(version) },
  test: {
    projects: [
      { extends: true, test: { name: 'quick', include: ['test/**/*.test.ts'], exclude: [slow] } },
      // Loops of kills, whole videos, other encoders and much memory: `npm run test:slow`.
      { extends: true, test: { name: 'slow', include: [slow] } },
      // Started by `npm run fuzz`.
      { extends: true, test: { name: 'fuzz', include: ['test/fuzz/round.fuzz.ts'] } },
    ],
    // Looks for keys in all that tests leave behind.
    globalSetup: 'test/support/watch-suite.ts',
    pool: 'forks',
    // A worker loads the program once for all of its test files; a test puts back what it changes of the process.
    isolate: false,
    // Threads and processes that tests start compile the same code again and again.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // Many tests start processes of their own: more workers than this would only wait for each other.
    maxWorkers: 2,
    // Limits against a hang on a busy machine; no test waits for time to pass.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
})
