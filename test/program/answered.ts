import { localServer, type LocalServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'

interface Runs<Result> {
  run(words: readonly string[]): Promise<Result>
}

/** Opens workspaces whose gateway is a local server with replies of its own. */
export function answeredBy<Workspace extends Runs<object>>(open: (gateway: LocalServer) => Workspace) {
  /** A workspace whose gateway gives these replies, and that gateway. */
  const given = async (...replies: readonly ServerReply[]) => {
    const server = await localServer(replies)
    return { ...open(server), server }
  }
  /** The same, with what came of one command in it. */
  const runGiven = async (words: readonly string[], ...replies: readonly ServerReply[]) => {
    const workspace = await given(...replies)
    const result = (await workspace.run(words)) as Awaited<ReturnType<Workspace['run']>>
    return { ...workspace, ...result }
  }
  return { given, runGiven }
}
