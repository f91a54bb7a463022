/** Chats in this one process, and prints how long each turn took in milliseconds: URL, turns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { channel } from 'node:diagnostics_channel'
import { longChat } from '../program/long-chat.ts'

// What the build puts in.
Object.assign(globalThis, { __VERSION__: 'bench' })

const [url, turns] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'modelgate-chat-'))
const sent: number[] = []
channel('undici:request:create').subscribe(() => sent.push(performance.now()))
try {
  const env = { MODELGATE_BASE_URL: url!, MODELGATE_API_KEY: 'bench', MODELGATE_HISTORY: 'full' }
  const words = ['--style', 'generate', '-m', 'bench-short']
  const signal = new AbortController().signal
  const { code, said } = await longChat(words, Number(turns), { folder, env, signal })
  if (code !== 0 || sent.length !== Number(turns)) throw new Error(`${code}, ${sent.length} turns:\n${said}`)
  const ends = [...sent.slice(1), performance.now()]
  console.log(JSON.stringify(sent.map((at, turn) => ends[turn]! - at)))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
