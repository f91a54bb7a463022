/**
 * `node .ci/release-notes.js TAG` prints what CHANGELOG.md says of the version that a tag names. Fails where the tag is
 * not that of the package's version, or nothing is written about it.
 */
import { readFileSync } from 'node:fs'

const tag = process.argv[2]
const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const { version } = JSON.parse(read('package.json'))
if (tag !== `v${version}`)
  fail(`The tag is ${tag}, and package.json says ${version}: it has to be v${version}.`)

const sections = read('CHANGELOG.md').split(/^(?=## )/m)
const section = sections.find((text) => text.slice(3).split(/\s/, 1)[0] === version)
const notes = section?.replace(/^.*\n/, '').trim()
if (!notes) fail(`CHANGELOG.md has no section "## ${version}", or an empty one.`)
console.log(notes)

function fail(message) {
  console.error(message)
  process.exit(1)
}
