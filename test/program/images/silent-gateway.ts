import { createServer, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** An address at which nobody answers, and how often somebody has called there. */
export interface SilentGateway {
  readonly url: string
  readonly calls: number
}

/** A gateway for one test of calls that must not be made. */
export async function silentGateway(): Promise<SilentGateway> {
  let calls = 0
  const server = createServer((socket) => {
    calls++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get calls() {
      return calls
    },
  }
}
