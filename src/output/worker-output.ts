import type { OutputDocument } from '../events/documents.ts'
import type { WorkerDocument, WorkerEvent } from '../events/run-document.ts'
import { byteText, clockTime } from '../quantities.ts'
import type { OwnRenderer } from './create-output.ts'
import type { Notices } from './notices.ts'
import type { Tone } from './screen.ts'
import { billedText, type RunLine } from './run/run-lines.ts'

const lineLimit = 1_000

/** A line for each request that has ended. A worker has no result of its own. */
export const workerRenderer: OwnRenderer = ({ screen, quiet, warningsOnly, annotate, usual }) => {
  const others = usual(annotate)
  const isTold = !quiet && !warningsOnly
  const line = ({ text, tone }: RunLine) => screen.line(text, tone, lineLimit)
  const sum = (document: OutputDocument | undefined) => {
    if (isTold && document?.command === 'run worker') line(summaryLine(document as WorkerDocument))
  }
  const notices: Notices = {
    event(event) {
      if (event.type === 'start' || event.type === 'task-start') return
      if (event.type !== 'worker-start' && event.type !== 'task-end') return others.event(event)
      const told = event.type === 'worker-start' ? startLine(event) : taskLine(event)
      if (isTold || told.tone === 'error') line(told)
    },
    end(document) {
      sum(document)
      others.end(document)
    },
    error(error, partial) {
      sum(partial)
      // The line of each request has said whether it was billed.
      others.error(error.amend({ billed: 'no' }), partial)
    },
  }
  return { notices, result: {} }
}

function startLine({ worker, queue, store, lanes, rate }: Event<'worker-start'>): RunLine {
  const places = lanes.filter(({ concurrency }) => concurrency > 0)
  const counts = places.map(({ lane, concurrency }) => `${concurrency} ${lane}`).join(', ')
  const limit = rate === null ? '' : `, ${rate} of each lane across all workers`
  return { text: `worker ${worker}: ${queue}, ${store}: ${counts}${limit}`, tone: 'dim' }
}

type Event<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>

function taskLine({ instance, outcome, error, ...task }: Event<'task-end'>): RunLine {
  const why = error === null ? '' : `: ${error.message}${billedText(error.billed)}`
  const time = task.took_s === null ? '' : `, in ${clockTime(task.took_s)}`
  const lines: Readonly<Record<typeof outcome, readonly [what: string, tone: Tone]>> = {
    done: [`done, ${byteText(task.bytes)}${time}`, 'plain'],
    again: [`again in ${clockTime(task.again_s ?? 0)}${why}`, 'dim'],
    returned: [`given back${why}`, 'dim'],
    failed: [`failed${why}`, 'error'],
    unknown: [`outcome unknown${why}`, 'error'],
  }
  const [what, tone] = lines[outcome]
  return { text: `${instance}: ${what}`, tone }
}

function summaryLine({ done, failed, unknown, took_s: took }: WorkerDocument): RunLine {
  const parts = [
    `${done} done`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(unknown === 0 ? [] : [`${unknown} of unknown outcome`]),
  ]
  return { text: `${parts.join(', ')}, in ${clockTime(took)}`, tone: 'plain' }
}
