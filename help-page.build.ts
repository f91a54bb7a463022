import type { HelpPage } from './src/output/help-page.ts'
import type { Context } from './src/context.ts'

/** The page of `modelgate --help`, as the program makes it without a build. */
export async function helpPage(version: string): Promise<HelpPage> {
  // The source takes it from the build.
  Object.assign(globalThis, { __VERSION__: version })
  const { createProgram } = await import('./src/program.ts')
  const { commandPage } = await import('./src/commands/shared/help/help-layout.ts')
  // No command runs, so nothing of the context is asked for.
  const program = createProgram({} as Context)
  return commandPage(program, program.createHelp())
}
