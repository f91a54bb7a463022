import { amountOf, shownAmount } from '../../cost/amount.ts'
import type { CostEstimate } from '../../events/text.ts'
import { runStates, type RunDocument, type RunEvent, type RunInstance } from '../../events/run-document.ts'
import { nextCommand } from '../../files/next-command.ts'
import { byteText, clockTime, counted, firstFew } from '../../quantities.ts'
import type { Tone } from '../screen.ts'

export interface RunLine {
  readonly text: string
  readonly tone: Tone
}

export function instanceLine({ instance, action, ...made }: RunInstance): RunLine | undefined {
  const { reasons, files, took_s: took, error } = made
  const sentences = reasons.join(' ')
  // Why others are skipped is said of all of them at the end.
  if (action === null || (action === 'skipped' && sentences === '')) return undefined
  const paths = files.map(({ path }) => path).join(', ')
  const facts = files.length === 1 ? `, ${fileFacts(files[0]!)}` : ''
  const time = took === null ? '' : `, in ${clockTime(took)}`
  const why = sentences && `: ${sentences}`
  const failure = error === null ? why : `: ${error.message}${billedText(error.billed)}`
  const lines: Readonly<Record<typeof action, readonly [what: string, tone: Tone]>> = {
    generated: [`generated ${paths}${facts}${time}`, 'plain'],
    restored: [`restored ${paths}`, 'plain'],
    moved: [`moved ${paths}`, 'plain'],
    accepted: [`accepted ${paths}`, 'plain'],
    kept: [`left alone${why}`, 'warning'],
    awaiting: [`waiting for a pick${sentences && `. ${sentences}`}`, 'warning'],
    skipped: [`not made${why}`, 'dim'],
    rejected: [`rejected${why}`, 'error'],
    failed: [`failed${failure}`, 'error'],
    unfetched: [`not fetched${failure}`, 'warning'],
    unknown: [`outcome unknown${failure}`, 'error'],
  }
  const [what, tone] = lines[action]
  return { text: `${instance}: ${what}`, tone }
}

export function billedText(billed: 'no' | 'maybe' | 'yes'): string {
  if (billed === 'no') return ''
  return billed === 'yes' ? ' It was billed.' : ' It may have been billed.'
}

function fileFacts({ bytes, width, height, seconds }: RunInstance['files'][number]): string {
  const size = width === null || height === null ? [] : [`${width}x${height}`]
  const time = seconds === null ? [] : [`${seconds} s`]
  return [...size, ...time, byteText(bytes)].join(', ')
}

export function rateLine(event: Extract<RunEvent, { type: 'lane-change' | 'circuit-change' }>): RunLine {
  if (event.type === 'circuit-change') {
    const text = event.open ? `requests are held back: ${event.reason}` : `requests resume: ${event.reason}`
    return { text, tone: 'warning' }
  }
  const { lane, concurrency, pause_s: pause, reason } = event
  const wait = pause === null ? '' : `, after ${clockTime(pause)}`
  return {
    text: `${lane}: ${concurrency} at once${wait}: ${reason}`,
    tone: pause === null ? 'dim' : 'warning',
  }
}

const madeByRun: ReadonlySet<string> = new Set(['new', 'stale', 'pending', 'restorable', 'unfetched'])

const maxIds = 5

export function summaryLines(document: RunDocument): RunLine[] {
  const { mode, instances, states, orphans, left } = document
  const counts = runStates.flatMap((state) =>
    states[state] === 0 ? [] : [`${states[state]} ${words(state)}`],
  )
  const failed = instances.filter(({ action }) => action === 'failed').length
  const isRun = mode === 'run' || mode === 'frozen'
  const parts = isRun && failed > 0 ? [...counts, `${failed} failed`] : counts
  return [
    { text: `${counted(instances.length, 'instance')}: ${parts.join(', ') || 'none'}`, tone: 'plain' },
    ...moneyLines(document),
    ...left
      // The plan itself says what a run does.
      .filter(({ state }) => mode !== 'plan' || !madeByRun.has(state))
      .flatMap((group, at, groups) => remainderLines(group, groups[at + 1])),
    ...(orphans.length === 0 ? [] : [orphanLine(orphans)]),
  ]
}

function moneyLines({ mode, creates, cost, estimate }: RunDocument): RunLine[] {
  const { planned, made, limit } = creates
  const of = limit === null ? '' : ` of ${limit}`
  if (mode === 'plan' && planned > 0) {
    const budget = limit === null ? '' : `, ${made}${of} used`
    return [{ text: `${planned} to create${costText(estimate)}${budget}`, tone: 'plain' }]
  }
  if (mode !== 'run' || made === 0) return []
  return [{ text: `${made}${of} created${costText(cost)}`, tone: 'plain' }]
}

/** `, about 0.48 USD by estimate`; empty where the amount is not known. */
export function costText(cost: CostEstimate | null): string {
  if (cost === null || cost.amount === null || cost.currency === null) return ''
  return `, about ${shownAmount(amountOf(cost.amount))} ${cost.currency} by estimate`
}

type Remainder = RunDocument['left'][number]

/** @param following what comes next: what can be done about both is said once */
function remainderLines(group: Remainder, following: Remainder | undefined): RunLine[] {
  const { state, instances } = group
  const advice = adviceOn(group)
  const isTold = advice.join('\n') !== (following && adviceOn(following).join('\n'))
  const text = `${instances.length} ${words(state)}: ${firstFew(instances, maxIds)}`
  const line: RunLine = { text, tone: worst.has(state) ? 'error' : 'warning' }
  return isTold ? [line, ...advice.map((text) => ({ text, tone: 'plain' }) as const)] : [line]
}

/** What it means, and the commands: each on a line of its own, so that it can be pasted. */
function adviceOn({ message, commands }: Remainder): string[] {
  return [`  ${message}`, ...commands.map((words) => `    ${nextCommand(words).toString()}`)]
}

const worst: ReadonlySet<string> = new Set(['failed', 'unknown', 'rejected', 'lost'])

function orphanLine(orphans: readonly string[]): RunLine {
  const text = `${orphans.length} in the lock and not in the manifest: ${firstFew(orphans, maxIds)}; run clean --outputs lists what they made`
  return { text, tone: 'dim' }
}

export function words(state: string): string {
  return state === 'changed' ? 'changed by hand' : state.replaceAll('_', ' ')
}
