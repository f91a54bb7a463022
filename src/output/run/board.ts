import { amountOf, shownAmount } from '../../cost/amount.ts'
import { asciiOf, drawLine } from '../job-progress.ts'
import { clockTime } from '../../quantities.ts'
import type { Styles } from '../screen.ts'
import { gap, shortened } from '../table-cells.ts'
import type { LaneView, RunView } from './run-view.ts'

interface BoardSize {
  /** In characters, and in lines: at most so many are drawn. */
  readonly width: number
  readonly height: number
}

/** Milliseconds between two animation steps of a bar. */
const stepTime = 200

/**
 * The board of a run: a line for each lane that has something to do, and one for the whole. The line for the whole is the
 * last to go on a low terminal, and on a narrow one each line keeps what matters most.
 * @param now of the clock that the view was made with
 */
export function drawRunBoard(
  view: RunView,
  now: number,
  { width, height }: BoardSize,
  styles: Styles,
): string {
  const busy = view.lanes.filter(({ total }) => total > 0)
  const nameWidth = Math.max(0, ...busy.map(({ name }) => name.length))
  const countWidth = Math.max(0, ...busy.map((lane) => countText(lane).length))
  const laneLines = busy.map((lane) => {
    const name = lane.name.padEnd(nameWidth).slice(0, width)
    const room = width - name.length - gap.length
    const line = room < 4 ? '' : `${gap}${drawLane(lane, countWidth, now, room, styles)}`
    return `${styles.dim(name)}${line}`
  })
  const outage =
    view.outage === null ? [] : [styles.warning(shortened(`held back: ${asciiOf(view.outage)}`, width))]
  const whole = wholeText(view, width)
  const above = [...laneLines, ...outage].slice(0, Math.max(0, height - 1))
  return [...above, whole].join('\n')
}

const countText = ({ done, total }: LaneView) => `${done}/${total}`

function drawLane(lane: LaneView, countWidth: number, now: number, width: number, styles: Styles): string {
  const { total, done, concurrency, pause, running } = lane
  const paused = pause === null ? [] : [`paused ${clockTime((pause.until - now) / 1000)}`]
  const [oldest] = running
  const percent = oldest?.percent == null ? '' : ` ${Math.floor(oldest.percent)}%`
  const details = [
    ...paused,
    `${running.length} of ${concurrency} running`,
    ...(oldest === undefined
      ? []
      : [`${asciiOf(oldest.id)}${percent} ${clockTime((now - oldest.since) / 1000)}`]),
  ]
  const percentDone = Math.floor((done * 100) / total)
  const parts = {
    percent: percentDone,
    label: lane.name,
    count: countText(lane).padStart(countWidth),
    details,
  }
  return drawLine(parts, Math.floor(now / stepTime), width, styles)
}

/** The most important first: what does not fit is left out from the end. */
function wholeText(
  { lanes, failed, rejected, created, cost, estimate, left }: RunView,
  width: number,
): string {
  const total = lanes.reduce((sum, lane) => sum + lane.total, 0)
  const done = lanes.reduce((sum, lane) => sum + lane.done, 0)
  const parts = [
    `${done} of ${total} done`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(rejected === 0 ? [] : [`${rejected} rejected`]),
    ...(left === null || done === total ? [] : [`~${clockTime(left)} left`]),
    ...(cost === null ? [] : [costText(cost, estimate)]),
    `${created.made}${created.limit === null ? '' : ` of ${created.limit}`} created`,
  ]
  let line = ''
  for (const part of parts) {
    const longer = line === '' ? part : `${line}${gap}${part}`
    if (longer.length > width) break
    line = longer
  }
  return line === '' ? shortened(parts[0]!, width) : line
}

/** What was spent so far, of what was expected. */
function costText({ amount, currency }: NonNullable<RunView['cost']>, estimate: number | null): string {
  const of = estimate === null ? '' : ` of ${shownAmount(amountOf(estimate))}`
  return `about ${shownAmount(amountOf(amount))}${of} ${currency}`
}
