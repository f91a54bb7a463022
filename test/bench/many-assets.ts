import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/context.ts'
import { keysOf } from '../../src/pipeline/plan/instance-key.ts'
import { formatLock, unknownProvenance, type LockBlock } from '../../src/pipeline/lock/lock-block.ts'
import { readManifest } from '../../src/pipeline/manifest/read-manifest.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { bigPng } from './large-files.ts'
import { atLeast, within, type Measurement } from './measurement.ts'
import { runWithPeak } from './memory.ts'
import { run } from './timing.ts'
import { modelgate, printedUrl, type Workbench } from './workbench.ts'

const count = 10_000
const numbers = Array.from({ length: count }, (_, at) => String(at).padStart(5, '0'))
/** As many calls show how long one takes. */
const loopCalls = 200

/** `run` on manifests of 10,000 instances: when all is fresh, and when all is to be made. */
export async function measureManyAssets(workbench: Workbench): Promise<Measurement[]> {
  return [
    ...(await measureCheck(workbench, 'rows of a CSV', rows)),
    ...(await measureCheck(workbench, 'jobs', jobs)),
    ...(await measureRun(workbench)),
  ]
}

interface Project {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>
  readonly outputs: Readonly<Record<string, Uint8Array>>
}

/** One job with a text for each row. */
function rows(): Project {
  const manifest = `version: 1
jobs:
  captions:
    each: rows.csv
    respond: { model: m, input: "Write a \${tone} caption for \${name}.", max_output_tokens: 200 }
    out: out/\${id}.txt
`
  const table = `id,name,tone\n${numbers.map((at) => `p${at},"Lamp ${at}, blue",friendly\n`).join('')}`
  return {
    files: { 'modelgate.yaml': manifest, 'rows.csv': table },
    outputs: Object.fromEntries(numbers.map((at) => [`out/p${at}.txt`, caption(at)])),
  }
}

/** Texts and small pictures in turn. */
function jobs(): Project {
  const picture = bigPng(1_000)
  const outputs: Record<string, Uint8Array> = {}
  const all = numbers.map((at, index) => {
    const isText = index % 2 === 0
    const path = `out/${at}.${isText ? 'txt' : 'png'}`
    outputs[path] = isText ? caption(at) : picture
    const command = isText
      ? `respond: { model: m, input: "A caption for lamp ${at}" }`
      : `image create: { prompt: "Lamp ${at} on white, soft light" }`
    return `  job-${at}:\n    ${command}\n    out: ${path}\n`
  })
  return { files: { 'modelgate.yaml': `version: 1\njobs:\n${all.join('')}` }, outputs }
}

function caption(at: string): Uint8Array {
  return Buffer.from(`The lamp ${at} gives a warm light. `.repeat(8))
}

async function measureCheck(
  workbench: Workbench,
  name: string,
  projectOf: () => Project,
): Promise<Measurement[]> {
  const { files, outputs } = projectOf()
  const root = join(workbench.folder, `fresh ${name}`)
  writeFiles(root, { ...files, ...outputs })
  await lockOutputs(root, outputs)
  const words = modelgate('run', '--check', '-f', join(root, 'modelgate.yaml'))
  const runs = Array.from({ length: 4 }, () => runWithPeak(workbench, words)).slice(1)
  const title = `run --check, 10,000 ${name}`
  const [times, peaks] = [runs.map(({ ms }) => ms), runs.map(({ peakMb }) => peakMb)]
  return [within(title, times, 2_000, 'ms'), within(`memory of ${title}`, peaks, 200)]
}

/** Writes a lock that has the outputs. */
async function lockOutputs(root: string, outputs: Project['outputs']): Promise<void> {
  const { signal } = new AbortController()
  const context = { cwd: root, platform: process.platform, clock: systemClock, signal }
  const options = { isSandbox: false, env: {}, families: {} }
  const manifest = await readManifest(context, join(root, 'modelgate.yaml'), options)
  const noInputs = { fileDigest: () => Promise.reject(new Error('no file')), upstream: () => undefined }
  const lock = new Map<string, LockBlock>()
  for (const [id, instance] of manifest.instances) {
    const { keys, fields } = (await keysOf(instance, null, noInputs))!
    const path = instance.output
    const bytes = outputs[path]!
    const media_type = path.endsWith('.png') ? 'image/png' : 'text/plain'
    const facts = { path, sha256: hash('sha256', bytes), bytes: bytes.length, media_type }
    const none = { width: null, height: null, seconds: null, credentials: false }
    const made = { key: keys[0]!, fields, outputs: [{ ...none, ...facts }] }
    lock.set(id, { ...unknownProvenance, ...made, picked: null, adopted: null, prompt: null })
  }
  writeFileSync(manifest.project.lockPath, formatLock(lock))
}

/** A run of 10,000 texts, against a shell's loop over single calls: how long one takes. */
async function measureRun(workbench: Workbench): Promise<Measurement[]> {
  const root = join(workbench.folder, 'new')
  writeFiles(root, rows().files)
  const [program, ...args] = modelgate('sandbox', '--latency', 'none', '--quiet')
  const sandbox = spawn(program!, args, { env: workbench.env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const env = { ...workbench.env, MODELGATE_BASE_URL: await printedUrl(sandbox) }
    const there = { ...workbench, env }
    const file = join(root, 'modelgate.yaml')
    const { ms, peakMb } = runWithPeak(there, modelgate('run', '--quiet', '-f', file))
    const call = modelgate('respond', '--quiet', '-m', 'm', 'A caption', '-o', 'loop-{}.txt')
    const loop = `seq ${loopCalls} | xargs -P8 -I{} ${call.map((word) => `'${word}'`).join(' ')}`
    const { ms: loopMs } = run(there, ['sh', '-c', loop], 'ignore')
    const each = { ours: [ms / count], baseline: [loopMs / loopCalls] }
    return [
      atLeast('an instance of run / a call by xargs -P8', each, 5),
      within('memory of run, 10,000 texts', [peakMb], 250),
    ]
  } finally {
    sandbox.kill()
  }
}
