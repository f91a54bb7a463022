#!/usr/bin/env node
// This file must run on any Node: it is the one that says that a newer one is needed.
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'

const [major, minor, patch] = process.versions.node.split('.').map(Number)
const newEnough =
  major >= 26 ||
  (major === 24 && minor >= 15) ||
  (major === 22 && (minor > 22 || (minor === 22 && patch >= 2)))

if (!newEnough) {
  process.stderr.write(
    `modelgate needs Node 22.22.2, 24.15.0 or 26 and newer; this is Node ${process.versions.node}. In a clone, npm scripts and npx use the right one.\n`,
  )
  process.exitCode = 2
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  // Answered here: loading the program would take longer than the answer.
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${version}\n`)
} else {
  // A long stream makes only short-lived garbage. Growing the space for it would double the memory and gain no time.
  setFlagsFromString('--semi-space-growth-factor=1')
  nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE ?? join(cacheFolder(), 'modelgate', 'code'))
  const { main, systemContext } = await import('../dist/main.js')
  process.exitCode = await main(process.argv.slice(2), systemContext())
}

function cacheFolder() {
  if (process.env.XDG_CACHE_HOME) return process.env.XDG_CACHE_HOME
  if (process.platform === 'win32' && process.env.LOCALAPPDATA) return process.env.LOCALAPPDATA
  return join(homedir(), '.cache')
}
