import type { RunChangeDocument } from '../../events/run-document.ts'
import { outputVersion } from '../../events/output-schema.ts'
import type { ManifestCall } from '../run/run-call.ts'
import { openProject, type OpenProject } from '../run/project.ts'
import { runFile } from '../run/describe.ts'
import { lockWithUnfinished } from '../run/resume-run.ts'
import type { ChangedInstance, ChangeScope } from './change-lock.ts'

/**
 * Opens the project of a call, and closes it after its use.
 * @param isOwned whether something may be changed
 * @throws as `openProject` does, and as `use` does
 */
export async function withProject<Value>(
  call: ManifestCall,
  isOwned: boolean,
  use: (scope: ChangeScope, project: OpenProject) => Promise<Value>,
): Promise<Value> {
  const { context } = call
  const project = await openProject(call, isOwned)
  try {
    const { history, replaced, results } = project
    // What a killed run has put in place is not taken for somebody's own file.
    const lock = await lockWithUnfinished(project, context.clock.now())
    return await use({ context, world: project.world({ lock }), history, replaced, results }, project)
  } finally {
    await project.close()
  }
}

/** Changes instances of the project of a call, and tells of it. @throws as `withProject` does */
export async function changeProject(
  call: ManifestCall,
  command: RunChangeDocument['command'],
  change: (scope: ChangeScope) => Promise<readonly ChangedInstance[]>,
): Promise<RunChangeDocument> {
  return await withProject(
    call,
    true,
    async (scope, { manifest: { project, warnings }, shownManifest, history }) => {
      const changed = await change(scope)
      return {
        version: outputVersion,
        command,
        manifest: shownManifest,
        folder: project.outputFolder,
        instances: changed.map(({ id, block }) => ({
          instance: id,
          variant: block.picked,
          files: block.outputs.map((facts) => runFile(call.context.cwd, project, facts)),
        })),
        warnings: [...warnings, ...history.problems],
      }
    },
  )
}
