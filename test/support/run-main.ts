import { main } from '../../src/main.ts'
import { expectNoCanary } from './canary-key.ts'
import { expectPublished } from './published-documents.ts'
import { testContext, type TestOverrides } from './test-context.ts'

/** What a whole call ended with. */
export interface RunResult {
  readonly code: number
  readonly out: string
  /** Standard output as it is. */
  readonly bytes: Buffer
  readonly err: string
}

/** Runs the program in this process, with everything but the network in memory. It shows no key of a test, and prints what the schemas describe. */
export async function runMain(argv: readonly string[], overrides: TestOverrides = {}): Promise<RunResult> {
  const context = testContext(overrides)
  const code = await main(argv, context)
  expectNoCanary('standard output', context.stdout.bytes)
  expectNoCanary('standard error', context.stderr.bytes)
  // A test may have a stream of its own, without a text.
  expectPublished(argv, { out: context.stdout.text ?? '', err: context.stderr.text ?? '' })
  return { code, out: context.stdout.text, bytes: context.stdout.bytes, err: context.stderr.text }
}
