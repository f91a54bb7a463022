import { fork } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { openReceiver, openSender } from '../../../src/pipeline/queue/bullmq-delivery.ts'
import { readQueueUrl } from '../../../src/pipeline/queue/queue-url.ts'
import { forTest, queueServers } from '../../support/queue-servers.ts'
import { until } from '../../support/until.ts'

describe.each(queueServers)('$name (needs $needs)', ({ isThere, start }) => {
  // Its lock lasts half a minute.
  test.skipIf(!isThere)('what a killed receiver had comes to another', async () => {
    const server = await forTest(start())
    const url = readQueueUrl(server.url)
    const sender = await openSender(url, 'test', systemClock)
    onTestFinished(() => sender.close())
    await sender.send('image', [{ key: 'key-a', attempt: 'a', priority: 0 }])
    const child = fork(join(import.meta.dirname, 'frozen-receiver-child.ts'), [server.url, 'test'])
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await new Promise((resolve) => child.once('message', resolve))).toBe('key-a')
    child.kill('SIGKILL')
    const seen: string[] = []
    const receiver = await openReceiver(
      url,
      'test',
      systemClock,
      'image',
      1,
      async ({ key }) => {
        seen.push(key)
        return 'over'
      },
      () => {},
    )
    onTestFinished(() => receiver.stop())
    await until(() => seen.length === 1)
    expect(seen).toEqual(['key-a'])
  })
})
