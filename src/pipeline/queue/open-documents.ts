import type { Clock } from '../../context.ts'
import { batched } from './batched-documents.ts'
import type { DocumentStore } from './document-store.ts'
import type { QueueUrl } from './queue-url.ts'

/**
 * Opens the documents of a queue. The client of its server is loaded only now. Transactions that
 * wait for each other are written together.
 * @param namespace in lower case: what has another one is apart, though on the same server
 * @throws UsageError the server may lose what it has answered; the message says what to set
 * @throws ModelgateError `queue_unreachable`
 */
export async function openDocuments(url: QueueUrl, namespace: string, clock: Clock): Promise<DocumentStore> {
  if (url.kind === 'postgres') {
    const { openPostgresDocuments } = await import('./postgres-documents.ts')
    return batched(await openPostgresDocuments(url, namespace, clock))
  }
  const { openRedisDocuments } = await import('./redis-documents.ts')
  return batched(await openRedisDocuments(url, namespace, clock))
}
