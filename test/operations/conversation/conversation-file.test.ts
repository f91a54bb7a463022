import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openConversationFile } from '../../../src/operations/conversation/conversation-file.ts'
import type { Conversation } from '../../../src/operations/conversation/conversation.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
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

test('one that was changed meanwhile is left alone, now and later', async () => {
  const { folder, file } = await opened()
  await file.save(conversation('one'), same)
  writeFiles(folder, { 'talk.yaml': 'messages: []' })
  await expect(file.save(conversation('two'), same)).rejects.toMatchObject({
    exitCode: 10,
    code: 'conversation_not_saved',
  })
  await file.save(conversation('three'), same)
  expect(readFileSync(join(folder, 'talk.yaml'), 'utf8')).toBe('messages: []')
  expect(readFileSync(join(folder, 'talk-2.yaml'), 'utf8')).toContain('content: three')
})

test('one that was removed meanwhile is written again', async () => {
  const { folder, file } = await opened()
  await file.save(conversation('one'), same)
  rmSync(join(folder, 'talk.yaml'))
  await file.save(conversation('two'), same)
  expect(readFileSync(join(folder, 'talk.yaml'), 'utf8')).toContain('content: two')
})

test('one from which a secret was taken is still valid', async () => {
  const { folder, file } = await opened()
  const hide = (text: string) => text.replaceAll('the-key', '[hidden]')
  const redactor = { text: hide, document: hide }
  await file.save({ ...conversation('the-key: one'), model: 'the-key' }, redactor)
  const { conversation: read } = await openConversationFile(testContext({ cwd: folder }), 'talk.yaml', {
    style: 'respond',
    isWritten: false,
    rescueFolder: undefined,
  })
  expect(read).toMatchObject({ model: '[hidden]', messages: [{ content: '[hidden]: one' }] })
})
