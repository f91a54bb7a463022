import { expect, test } from 'vitest'
import { readPage } from '../support/pages.ts'

const lines = readPage('Dockerfile')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const stages = lines.join('\n').split(/^(?=FROM )/m)
const image = stages.at(-1)!

test('the image runs the program itself, not as root', () => {
  expect(/^USER (.*)$/m.exec(image)?.[1]).toBe('node')
  // In a shell it would not get the signals.
  expect(/^ENTRYPOINT (.*)$/m.exec(image)?.[1]).toBe('["modelgate"]')
})

test('nothing is run for a processor that the building machine does not have', () => {
  expect(image).not.toMatch(/^RUN /m)
  const others = stages.slice(0, -1).filter((stage) => !stage.startsWith('FROM --platform=$BUILDPLATFORM '))
  expect(others).toEqual([])
})

test('nothing but the package is taken from the folder, and so sent to the builder', () => {
  const copied = lines.filter((line) => /^(?:COPY|ADD) (?!--from)/.test(line))
  expect(copied).toEqual(['COPY modelgate-*.tgz /tmp/modelgate.tgz'])
})
