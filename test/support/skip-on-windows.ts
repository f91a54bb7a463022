import process from 'node:process'
import { TestRunner } from 'vitest'

/**
 * Skips the test that is running, by name and with the reason, where the system has not got what it uses. It asks on the
 * way, and not each test before it begins, because only its helpers know what they need.
 * @param missing what Windows has not, as `signals`
 */
export function skipOnWindows(missing: string, platform: NodeJS.Platform = process.platform): void {
  if (platform === 'win32') TestRunner.getCurrentTest()?.context.skip(`Windows has no ${missing}.`)
}

/** What a process needs of the environment on Windows, and where its folders are there: below the given home. */
export function windowsEnvironment(home: string): Readonly<Record<string, string | undefined>> {
  if (process.platform !== 'win32') return {}
  const { SystemRoot, ComSpec, PATHEXT, TEMP } = process.env
  return { SystemRoot, ComSpec, PATHEXT, TEMP, USERPROFILE: home, APPDATA: home, LOCALAPPDATA: home }
}
