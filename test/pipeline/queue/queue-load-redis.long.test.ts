import { describe } from 'vitest'
import { hasRedis, startRedis } from '../../support/queue-servers.ts'
import { loadTests } from './load-tests.ts'

describe('on Redis (needs redis-server)', () => {
  loadTests(hasRedis, () => startRedis())
})
