import type { ConnectionOptions, createRedisBackend } from 'bullmq'

/** The connections that BullMQ works over. */
export interface Backend {
  /** Queues and workers need no more of it than all backends have. */
  readonly factory: typeof createRedisBackend
  /** Of queues and workers that are made with the factory. */
  readonly options: {
    readonly connection: ConnectionOptions
    readonly prefix?: string
    readonly skipVersionCheck: true
  }
  /** Ends all connections, whatever goes on over them. */
  close(): Promise<void>
}
