import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openConversationFile } from '../../../src/operations/conversation/conversation-file.ts'
import type { Conversation } from '../../../src/operations/conversation/conversation.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const conversation = (text: string): Conversation => ({
  style: 'respond',
  settings: {},
  messages: [{ role: 'user', content: text }],
})

const same = { text: (text: string) => text, document: (json: string) => json }

async function opened() {
  const folder = temporaryFolder()
  const rescueFolder = join(folder, 'rescued')
  const context = testContext({ cwd: folder })
  const file = await openConversationFile(context, 'talk.yaml', {
    style: 'respond',
    isWritten: true,
    rescueFolder,
  })
  return { folder, file }
}

test('what cannot be written where it belongs is kept elsewhere, and told', async () => {
  const { folder, file } = await opened()
  await file.save(conversation('one'), same)
  rmSync(join(folder, 'talk.yaml'))
  mkdirSync(join(folder, 'talk.yaml'))
  const error: unknown = await file.save(conversation('two'), same).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    exitCode: 10,
    code: 'conversation_not_saved',
    message: expect.stringMatching(/^The conversation was not saved: .*It is kept in .*rescued/) as string,
  })
  const { rescued } = (error as { facts: { rescued: readonly string[] } }).facts
  expect(readFileSync(rescued[0]!, 'utf8')).toContain('content: two')
})
