import type { Context } from '../context.ts'

/** Whether a CI runner reads what we write; most set `CI`, GitHub's sets both. */
export function inCi(env: Context['env']): boolean {
  return Boolean(env.CI || env.GITHUB_ACTIONS)
}
