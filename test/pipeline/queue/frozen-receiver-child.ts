/** Takes one delivery, says which, and never ends with it. */
import { systemClock } from '../../../src/context.ts'
import { openReceiver } from '../../../src/pipeline/queue/bullmq-delivery.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'

const [, , url, space] = process.argv
const never = new Promise<never>(() => {})
await openReceiver(
  readQueueUrl(url!),
  space!,
  systemClock,
  'image',
  1,
  ({ key }) => {
    process.send!(key)
    return never
  },
  () => {},
)
