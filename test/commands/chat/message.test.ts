import { expect, test } from 'vitest'
import { readMessage, type Message } from '../../../src/commands/chat/chat-commands.ts'

const files = new Set(['notes.txt', 'my notes.txt', 'photo', '~/a.png', 'odd.txt.'])
const read = (text: string) => readMessage(text, async (path) => files.has(path))
const text = (words: string, ...attach: string[]): Message => ({ kind: 'text', text: words, attach })

test.each<[string, Message]>([
  ['Hello', text('Hello')],
  ['  Hello\n there ', text('  Hello\n there ')],
  [' \n', { kind: 'empty' }],
  ['What is @notes.txt?', text('What is notes.txt?', 'notes.txt')],
  ['@notes.txt, @photo: compare', text('notes.txt, photo: compare', 'notes.txt', 'photo')],
  ['See @"my notes.txt".', text('See my notes.txt.', 'my notes.txt')],
  ['(@notes.txt)', text('(notes.txt)', 'notes.txt')],
  ['@odd.txt.', text('odd.txt.', 'odd.txt.')],
  ['@~/a.png', text('~/a.png', '~/a.png')],
  ['@https://a.test/b?c=1.', text('https://a.test/b?c=1.', 'https://a.test/b?c=1')],
  ['Ask @ada or a@b.test', text('Ask @ada or a@b.test')],
  ['@gone.txt and @./gone', text('gone.txt and ./gone', 'gone.txt', './gone')],
  [String.raw`\@notes.txt is a name`, text('@notes.txt is a name')],
])('%j', async (typed, message) => {
  expect(await read(typed)).toEqual(message)
})

test.each<[string, Message]>([
  ['/help', { kind: 'command', name: 'help', rest: '' }],
  [' /model  some-model ', { kind: 'command', name: 'model', rest: 'some-model' }],
  ['/system one\ntwo', { kind: 'command', name: 'system', rest: 'one\ntwo' }],
  ['/quit', { kind: 'command', name: 'exit', rest: '' }],
  ['/new', { kind: 'unknown', name: 'new', near: undefined }],
  ['/retyr', { kind: 'unknown', name: 'retyr', near: 'retry' }],
  ['/constructor', { kind: 'unknown', name: 'constructor', near: undefined }],
  ['/', { kind: 'unknown', name: '', near: undefined }],
  ['/etc/hosts is a file', text('/etc/hosts is a file')],
  ['//help is a word', text('/help is a word')],
])('a slash begins a command: %j', async (typed, message) => {
  expect(await read(typed)).toEqual(message)
})
