import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/context.ts'
import { keysOf } from '../../src/pipeline/plan/instance-key.ts'
import { formatLock, unknownProvenance, type LockBlock } from '../../src/pipeline/lock/lock-block.ts'
import { readManifest } from '../../src/pipeline/manifest/read-manifest.ts'
import { bigPng } from './big-png.ts'
import type { Measurement } from './measurement.ts'
import { memoryWithin, runWithPeak, within } from './memory.ts'
import { atLeast } from './ratio.ts'
import { run } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const count = 10_000
const numbers = Array.from({ length: count }, (_, at) => String(at).padStart(5, '0'))

const maxCheckMs = 2_000
const maxCheckMb = 200

/** As many calls show how long one takes. */
const loopCalls = 200
const loopBar = 5
const maxRunMb = 250

/** `run` on manifests of 10,000 instances: when all is fresh, and when all is to be made. */
export async function measureManyAssets(workbench: Workbench): Promise<Measurement[]> {
  return [
    ...(await measureCheck(workbench, 'rows of a CSV', rows)),
    ...(await measureCheck(workbench, 'jobs', jobs)),
    ...(await measureRun(workbench)),
  ]
}

interface Project {
  readonly manifest: string
  readonly rows?: string
  /** By their paths. */
  readonly outputs: ReadonlyMap<string, Uint8Array>
}

/** One job with a text for each row. */
function rows(): Project {
  return {
    manifest: `version: 1
jobs:
  captions:
    each: rows.csv
    respond: { model: m, input: "Write a \${tone} caption for \${name}.", max_output_tokens: 200 }
    out: out/\${id}.txt
`,
    rows: `id,name,tone\n${numbers.map((at) => `p${at},"Lamp ${at}, blue",friendly\n`).join('')}`,
    outputs: new Map(numbers.map((at) => [`out/p${at}.txt`, caption(at)])),
  }
}

/** Texts and small pictures in turn. */
function jobs(): Project {
  const picture = bigPng(1_000)
  const outputs = new Map<string, Uint8Array>()
  const all = numbers.map((at, index) => {
    const isText = index % 2 === 0
    const path = `out/${at}.${isText ? 'txt' : 'png'}`
    outputs.set(path, isText ? caption(at) : picture)
    const command = isText
      ? `respond: { model: m, input: "A caption for lamp ${at}" }`
      : `image create: { prompt: "Lamp ${at} on white, soft light" }`
    return `  job-${at}:\n    ${command}\n    out: ${path}\n`
  })
  return { manifest: `version: 1\njobs:\n${all.join('')}`, outputs }
}

function caption(at: string): Uint8Array {
  return Buffer.from(`The lamp ${at} gives a warm light. `.repeat(8))
}

function writeProject({ folder }: Workbench, name: string, { manifest, rows: table }: Project): string {
  const root = join(folder, name)
  mkdirSync(root)
  writeFileSync(join(root, 'modelgate.yaml'), manifest)
  if (table !== undefined) writeFileSync(join(root, 'rows.csv'), table)
  return root
}

async function measureCheck(
  workbench: Workbench,
  name: string,
  projectOf: () => Project,
): Promise<Measurement[]> {
  const project = projectOf()
  const root = writeProject(workbench, `fresh ${name}`, project)
  await lockOutputs(root, project)
  const words = modelgate('run', '--check', '-f', join(root, 'modelgate.yaml'))
  const runs = Array.from({ length: 4 }, () => runWithPeak(workbench, words)).slice(1)
  const title = `run --check, 10,000 ${name}`
  const times = runs.map(({ ms }) => ms)
  const peaks = runs.map(({ peakMb }) => peakMb)
  return [within(title, times, maxCheckMs, 'ms'), memoryWithin(`memory of ${title}`, peaks, maxCheckMb)]
}

/** Writes the outputs, and a lock that has them. */
async function lockOutputs(root: string, { outputs }: Project): Promise<void> {
  mkdirSync(join(root, 'out'))
  for (const [path, bytes] of outputs) writeFileSync(join(root, path), bytes)
  const context = {
    cwd: root,
    platform: process.platform,
    clock: systemClock,
    signal: new AbortController().signal,
  }
  const manifest = await readManifest(context, join(root, 'modelgate.yaml'), {
    isSandbox: false,
    env: {},
    families: {},
  })
  const noInputs = { fileDigest: () => Promise.reject(new Error('no file')), upstream: () => undefined }
  const lock = new Map<string, LockBlock>()
  for (const [id, instance] of manifest.instances) {
    const { keys, fields } = (await keysOf(instance, null, noInputs))!
    const path = instance.output
    const bytes = outputs.get(path)!
    const facts = { path, sha256: hash('sha256', bytes), bytes: bytes.length, ...kindOf(path) }
    const none = { width: null, height: null, seconds: null, credentials: false }
    lock.set(id, {
      ...unknownProvenance,
      key: keys[0]!,
      fields,
      outputs: [{ ...none, ...facts }],
      picked: null,
      adopted: null,
      prompt: null,
    })
  }
  writeFileSync(manifest.project.lockPath, formatLock(lock))
}

function kindOf(path: string): { readonly media_type: string } {
  return { media_type: path.endsWith('.png') ? 'image/png' : 'text/plain' }
}

/** A run of 10,000 texts, against a shell's loop over single calls: how long one takes. */
async function measureRun(workbench: Workbench): Promise<Measurement[]> {
  const root = writeProject(workbench, 'new', rows())
  return await withSandbox(workbench, (url) => {
    const there = { ...workbench, env: { ...workbench.env, MODELGATE_BASE_URL: url } }
    const file = join(root, 'modelgate.yaml')
    const { ms, peakMb } = runWithPeak(there, modelgate('run', '--quiet', '-f', file))
    const call = modelgate('respond', '--quiet', '-m', 'm', 'A caption', '-o', 'loop-{}.txt')
    const loop = `seq ${loopCalls} | xargs -P8 -I{} ${call.map((word) => `'${word}'`).join(' ')}`
    const { ms: loopMs } = run(there, ['sh', '-c', loop], 'ignore')
    const each = { ours: [ms / count], baseline: [loopMs / loopCalls] }
    return [
      atLeast('an instance of run / a call by xargs -P8', each, loopBar),
      memoryWithin('memory of run, 10,000 texts', [peakMb], maxRunMb),
    ]
  })
}

/** A sandbox that answers at once, in a process of its own. */
async function withSandbox<Value>({ env }: Workbench, use: (url: string) => Value): Promise<Value> {
  const [program, ...args] = modelgate('sandbox', '--latency', 'none', '--quiet')
  const sandbox = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      sandbox.once('exit', (code) => reject(new Error(`the sandbox ended with ${code}`)))
      sandbox.stdout.once('data', (text: Buffer) => resolve(text.toString().trim()))
    })
    return use(url)
  } finally {
    sandbox.kill()
  }
}
