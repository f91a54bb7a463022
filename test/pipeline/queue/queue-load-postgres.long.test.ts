import { describe } from 'vitest'
import { hasPostgres, startPostgres } from '../../support/queue-servers.ts'
import { loadTests } from './load-tests.ts'

describe('on PostgreSQL (needs postgresql)', () => {
  loadTests(hasPostgres, () => startPostgres())
})
