import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ModelgateError } from '../../src/errors.ts'
import { temporaryFolder, writeFiles } from './temporary-folder.ts'
import { testContext, type TestOverrides } from './test-context.ts'

export type ConfigPlace = ReturnType<typeof configPlace>

export interface ConfigPlaceContent extends Omit<TestOverrides, 'cwd' | 'home'> {
  /** Content of `~/.config/modelgate/config.yaml`. */
  readonly user?: string
  /** Content of `~/project/.modelgaterc`. */
  readonly project?: string
  /** Content of `~/.config/modelgate/credentials.json`, mode 0600 unless told. */
  readonly credentials?: unknown
  readonly credentialsMode?: number
  /** More files, below the home directory. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
}

/** A home directory with a project in it, and a context whose working directory is the project. */
export function configPlace(content: ConfigPlaceContent = {}) {
  const { user, project, credentials, credentialsMode, files, ...overrides } = content
  const home = temporaryFolder()
  const folder = join(home, 'project')
  mkdirSync(folder)
  if (user !== undefined) writeFiles(home, { '.config/modelgate/config.yaml': user })
  if (project !== undefined) writeFiles(folder, { '.modelgaterc': project })
  if (credentials !== undefined) {
    const text = typeof credentials === 'string' ? credentials : JSON.stringify(credentials)
    writeFiles(home, { '.config/modelgate/credentials.json': text })
    chmodSync(join(home, '.config/modelgate/credentials.json'), credentialsMode ?? 0o600)
  }
  if (files !== undefined) writeFiles(home, files)
  return {
    home,
    project: folder,
    userFile: join(home, '.config/modelgate/config.yaml'),
    projectFile: join(folder, '.modelgaterc'),
    context: testContext({ ...overrides, cwd: folder, home }),
    /** A text with the folder's random name replaced by `HOME`. */
    scrub: (text: string) => text.replaceAll(home, 'HOME'),
  }
}

/** The error of a call that must fail with one of the program's own: exit code, code, message and hint as one text. */
export async function failureOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    const hint = error.facts.hint === undefined ? '' : `\nhint: ${error.facts.hint}`
    return `${error.exitCode} ${error.code} (${error.facts.phase})\n${error.message}${hint}`
  }
  throw new Error('The call did not fail.')
}
