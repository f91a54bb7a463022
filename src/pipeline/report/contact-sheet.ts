import { hash } from 'node:crypto'
import type { AssetReport, ReportAsset } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { isTextType } from '../store/file-digest.ts'
import { Figures } from './figures.ts'
import { markup, nothing, type Markup } from './markup.ts'
import {
  costText,
  factLine,
  sectionsOf,
  sinceFacts,
  stateLabel,
  stateWords,
  sumFacts,
  timeText,
  toneOf,
  tookText,
} from './report-words.ts'
import type { SheetPlace } from './sheet-files.ts'
import { style } from './sheet-style.ts'

/**
 * Writes a report as one HTML page without a script that loads nothing from elsewhere: a grid of thumbnails that open,
 * with links to the files, or with the files in it. Asset by asset, so that they need not be in memory together.
 */
export async function* contactSheet(report: AssetReport, place: SheetPlace): AsyncIterable<string> {
  const anchors = new Map(report.assets.map(({ id }, index) => [id, `a${index + 1}`]))
  const { currency } = report.sums
  yield pageStart(report).html
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    const count = markup`<span class="quiet">${assets.length}</span>`
    yield markup`<section data-tone="${tone}"><h2>${title} ${count}</h2>\n<div class="grid">\n`.html
    for (const asset of assets) yield (await new AssetTile(asset, place, anchors, currency).write()).html
    yield '</div></section>\n'
  }
  const removed = report.since?.removed ?? []
  if (removed.length > 0) {
    const count = markup`<span class="quiet">${removed.length}</span>`
    yield markup`<section data-tone="done"><h2>Removed ${count}</h2>\n<div class="grid">\n`.html
    for (const asset of removed) yield (await removedTile(asset, place)).html
    yield '</div></section>\n'
  }
  yield '</main>\n</body>\n</html>\n'
}

/** Whatever might be in the page, nothing runs, and nothing is loaded but the linked videos. */
function pageStart(report: AssetReport): Markup {
  const { name, manifest, time, sandbox, assets } = report
  const since = sinceFacts(report)
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src data:; media-src data: 'self' file:; base-uri 'none'; form-action 'none'`
  const states = [...Map.groupBy(assets, stateLabel)].map(
    ([label, found]) =>
      markup`<li class="state" data-tone="${toneOf(found[0]!)}">${label} <b>${found.length}</b></li>`,
  )
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="modelgate run report">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${name} · ${manifest}</title>
<style>${{ html: style }}</style>
</head>
<body>
<header>
<h1 dir="auto">${name}${sandbox ? markup` <span class="badge">sandbox</span>` : nothing}</h1>
<p class="quiet"><span dir="auto">${manifest}</span> · ${timeText(time)}</p>
${since === null ? nothing : markup`<p dir="auto">${since}</p>\n`}<p>${sumFacts(report)}</p>
<ul class="states">${states}</ul>
</header>
<main>
`
}

/** In characters. A longer prompt is shown by its beginning. */
const maxPromptLength = 20_000

/** In characters. Longer values of fields say nothing in a list. */
const maxFieldLength = 200

/** One asset: its picture and its state; opened, what it was made from and all there is to compare. */
class AssetTile {
  readonly #asset: ReportAsset
  readonly #figures: Figures
  readonly #anchors: ReadonlyMap<string, string>
  readonly #currency: string | null

  /** @param anchors the element ids of all tiles, by the ids of the assets */
  constructor(
    asset: ReportAsset,
    place: SheetPlace,
    anchors: ReadonlyMap<string, string>,
    currency: string | null,
  ) {
    this.#asset = asset
    this.#figures = new Figures(asset, place)
    this.#anchors = anchors
    this.#currency = currency
  }

  async write(): Promise<Markup> {
    const { id, files, before, candidates, state } = this.#asset
    await this.#figures.makeThumbnails([...files, ...before, ...candidates.flatMap(({ files }) => files)])
    const [now, then] = state === 'changed' ? ['Changed by hand', 'As locked'] : ['After', 'Before']
    const shots: Markup[] = []
    for (const file of before) shots.push(await this.#figures.figure(file, then))
    for (const file of files) shots.push(await this.#figures.figure(file, before.length === 0 ? '' : now))
    for (const candidate of candidates) shots.push(await this.#candidate(candidate))
    const label = stateLabel(this.#asset)
    return markup`<details class="asset" id="${this.#anchors.get(id)}" data-state="${label}">
<summary><span class="tile">${await this.#picture()}</span>
<h3 dir="auto">${id}</h3><span class="state" data-tone="${toneOf(this.#asset)}" title="${stateWords[state].meaning}">${label}</span></summary>
<div class="shots">${shots}</div>
${this.#notes()}
</details>
`
  }

  async #picture(): Promise<Markup> {
    const { state, files, candidates } = this.#asset
    const file = files[0] ?? candidates[0]?.files[0]
    if (file !== undefined) return await this.#figures.tile(file)
    return state === 'lost' ? markup`The file is gone` : markup`Nothing to see yet`
  }

  async #candidate(candidate: ReportAsset['candidates'][number]): Promise<Markup> {
    const { number, state, files, model, cost, took_s, reasons, pick } = candidate
    const label = state === 'awaiting' ? `Candidate ${number}` : `Candidate ${number}, ${state}`
    const shots: Markup[] = []
    for (const file of files) shots.push(await this.#figures.figure(file, label))
    const facts = [
      model,
      took_s === null ? null : tookText(took_s),
      cost === null ? null : costText(cost, this.#currency),
    ]
    // Why the only result was rejected is said of the asset.
    const why = this.#asset.candidates.length === 1 ? nothing : list(reasons)
    return markup`<div>${shots}<p class="quiet">${factLine(facts)}</p>
${why}${commandLine(pick)}</div>`
  }

  #notes(): Markup {
    const { alt, command, model, fields, files, output, picked, cost, took_s, ...asset } = this.#asset
    const request = fields.map(({ name, text, assets }): Fact => {
      const short = text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text
      const anchor = assets.length === 1 ? this.#anchors.get(assets[0]!) : undefined
      return [name, anchor === undefined ? short : markup`<a href="#${anchor}">${short}</a>`]
    })
    const result: Fact[] = [
      ['file', files.length === 0 ? output : null],
      ['candidate', picked === null ? null : `${picked} was picked`],
      ['cost', cost === null ? null : `${costText(cost, this.#currency)} estimated`],
      ['took', took_s === null ? null : tookText(took_s)],
      ['inside', files.some((file) => file.credentials) ? 'content credentials' : null],
      ['adopted by', asset.adopted],
      ['gateway', asset.origin],
      ['request', asset.request_id],
      ['remote job', asset.job_id],
    ]
    return markup`<div class="notes">
${problems(this.#asset)}
${promptBlock(this.#asset)}
${alt === null ? nothing : markup`<div><h4>Alt text</h4><p dir="auto">${alt}</p></div>`}
<div><h4>Request</h4>${factList([['command', command], ['model', model], ...request])}</div>
<div><h4>Result</h4>${factList(result)}</div>
</div>`
  }
}

type RemovedAsset = NonNullable<AssetReport['since']>['removed'][number]

async function removedTile({ id, files }: RemovedAsset, place: SheetPlace): Promise<Markup> {
  const isText = files.some(({ media_type }) => isTextType(media_type))
  const figures = new Figures({ id, alt: null, kind: isText ? 'text' : 'image' }, place)
  await figures.makeThumbnails(files)
  const shots: Markup[] = []
  for (const file of files) shots.push(await figures.figure(file, 'Before'))
  return markup`<details class="asset" data-state="removed">
<summary><span class="tile">${await figures.tile(files[0]!)}</span>
<h3 dir="auto">${id}</h3><span class="state" data-tone="done">removed</span></summary>
<div class="shots">${shots}</div>
</details>
`
}

const billedWords = { no: 'Nothing was billed.', maybe: 'It may have been billed.', yes: 'It was billed.' }

/** Why it is in its state, how it failed, and what to do. */
function problems({ state, reasons, failure, next }: ReportAsset): Markup {
  if (reasons.length === 0 && failure === null && next === null) return nothing
  if (failure === null) {
    const meaning = reasons.length === 0 ? markup`<p>${stateWords[state].meaning}</p>` : list(reasons)
    return markup`<div>${meaning}${commandLine(next)}</div>`
  }
  const { message, code, exit_code, billed } = failure
  return markup`<div><p class="failure" dir="auto">${message}</p>
<p class="quiet">${code}, exit code ${exit_code}. ${billedWords[billed]}</p>${list(reasons)}${commandLine(next)}</div>`
}

function promptBlock({ prompt, prompt_file, kind }: ReportAsset): Markup {
  if (prompt === null) return nothing
  const from = prompt_file === null ? nothing : markup` <span class="quiet">${prompt_file}</span>`
  const left = prompt.length - maxPromptLength
  const rest = left > 0 ? markup`<p class="quiet">${left} more characters</p>` : nothing
  return markup`<div><h4>${kind === 'text' ? 'Input' : 'Prompt'}${from}</h4>
<p class="text" dir="auto">${prompt.slice(0, maxPromptLength)}</p>${rest}</div>`
}

type Fact = readonly [name: string, value: Markup | string | null]

function factList(facts: readonly Fact[]): Markup {
  const rows = facts.map(([name, value]) =>
    value === null ? nothing : markup`<dt>${name}</dt><dd dir="auto">${value}</dd>`,
  )
  return markup`<dl>${rows}</dl>`
}

function list(items: readonly string[]): Markup {
  if (items.length === 0) return nothing
  return markup`<ul>${items.map((item) => markup`<li dir="auto">${item}</li>`)}</ul>`
}

function commandLine(words: readonly string[] | null): Markup {
  if (words === null) return nothing
  return markup`<p><code dir="ltr">${nextCommand(words).toString()}</code></p>`
}
