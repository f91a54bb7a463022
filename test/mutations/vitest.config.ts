import process from 'node:process'
import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

const { projects: _, ...test } = base.test ?? {}

/**
 * The tests of one run of Stryker, named by the environment: its own option `testFiles` would activate a mutant only
 * after the module was loaded, too late for the constants of a module. For their sake each file has its own worker, too.
 */
export default defineConfig({
  ...base,
  test: {
    ...test,
    include: process.env['MUTATION_TESTS']?.split(',') ?? [],
    env: { ...test.env, TEST_DEPTH: 'full' },
    isolate: true,
  },
})
