import { hash } from 'node:crypto'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { byteText } from '../../quantities.ts'
import { isTextType } from '../store/file-digest.ts'
import * as words from './report-words.ts'
import { showFiles, type SheetPlace, type ShownFile } from './sheet-files.ts'

interface Sheet {
  readonly place: SheetPlace
  /** The element ids of all tiles, by the ids of the assets. */
  readonly anchors: ReadonlyMap<string, string>
  readonly currency: string | null
}

/**
 * Writes a report as one HTML page without a script that loads nothing from elsewhere: a grid of thumbnails that open,
 * with links to the files, or with the files in it. Asset by asset, so that they need not be in memory together.
 */
export async function* contactSheet(report: AssetReport, place: SheetPlace): AsyncIterable<string> {
  const anchors = new Map(report.assets.map(({ id }, index) => [id, `a${index + 1}`]))
  const sheet = { place, anchors, currency: report.sums.currency }
  yield pageStart(report).html
  for (const { title, tone, assets } of words.sectionsOf(report.assets)) {
    yield* section(tone, title, assets, (asset) => assetTile(asset, sheet))
  }
  yield* section('done', 'Removed', report.since?.removed ?? [], (asset) => removedTile(asset, sheet))
  yield '</main>\n</body>\n</html>\n'
}

async function* section<Asset>(
  tone: words.Tone,
  title: string,
  assets: readonly Asset[],
  tileOf: (asset: Asset) => Promise<Markup>,
): AsyncIterable<string> {
  if (assets.length === 0) return
  const count = markup`<span class="quiet">${assets.length}</span>`
  yield markup`<section data-tone="${tone}"><h2>${title} ${count}</h2>\n<div class="grid">\n`.html
  for (const asset of assets) yield (await tileOf(asset)).html
  yield '</div></section>\n'
}

/** Whatever might be in the page, nothing runs, and nothing is loaded but the linked videos. */
function pageStart(report: AssetReport): Markup {
  const { name, manifest, time, sandbox, assets } = report
  const since = words.sinceFacts(report)
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src data:; media-src data: 'self' file:; base-uri 'none'; form-action 'none'`
  const states = [...Map.groupBy(assets, (asset) => words.wordsFor(asset).label)].map(
    ([label, found]) =>
      markup`<li class="state" data-tone="${words.wordsFor(found[0]!).tone}">${label} <b>${found.length}</b></li>`,
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
<h1 dir="auto">${name}${sandbox ? markup` <span class="badge">sandbox</span>` : null}</h1>
<p class="quiet"><span dir="auto">${manifest}</span> · ${words.timeText(time)}</p>
${since && markup`<p dir="auto">${since}</p>\n`}<p>${words.sumFacts(report)}</p>
<ul class="states">${states}</ul>
</header>
<main>
`
}

/** In characters; of longer ones the beginning is shown. */
const maxPromptLength = 20_000
const maxFieldLength = 200

/** One asset: its picture and its state; opened, what it was made from and all there is to compare. */
async function assetTile(asset: ReportAsset, sheet: Sheet): Promise<Markup> {
  const { id, kind, files, before, candidates, state } = asset
  const all = [...files, ...before, ...candidates.flatMap((one) => one.files)]
  const shown = await showFiles(sheet.place, all, kind === 'text')
  const figures = (some: readonly ReportFile[], label: string) =>
    some.map((file) => figure(asset, shown.get(file)!, label))
  const choices = candidates.map((one) => {
    const label = `Candidate ${one.number}${one.state === 'awaiting' ? '' : `, ${one.state}`}`
    const facts = words.factLine([
      one.model,
      words.tookText(one.took_s),
      words.costText(one.cost, sheet.currency),
    ])
    // Why the only result was rejected is said of the asset.
    const why = candidates.length === 1 ? null : list(one.reasons)
    return markup`<div>${figures(one.files, label)}<p class="quiet">${facts}</p>
${why}${commandLine(one.pick)}</div>`
  })
  const [now, then] = state === 'changed' ? ['Changed by hand', 'As locked'] : ['After', 'Before']
  const [cover = candidates[0]?.files[0]] = files
  const { tone, label, meaning } = words.wordsFor(asset)
  return markup`<details class="asset" id="${sheet.anchors.get(id)}">
<summary><span class="tile">${closedTile(asset, cover && shown.get(cover))}</span>
<h3 dir="auto">${id}</h3><span class="state" data-tone="${tone}" title="${meaning}">${label}</span></summary>
<div class="shots">${figures(before, then)}${figures(files, before.length === 0 ? '' : now)}${choices}</div>
${notes(asset, sheet)}
</details>
`
}

type RemovedAsset = NonNullable<AssetReport['since']>['removed'][number]

async function removedTile({ id, files }: RemovedAsset, { place }: Sheet): Promise<Markup> {
  const isText = files.some(({ media_type }) => isTextType(media_type))
  const shown = await showFiles(place, files, isText)
  const figures = [...shown.values()].map((file) => figure({ id, alt: null }, file, 'Before'))
  return markup`<div class="asset"><h3 dir="auto">${id}</h3><div class="shots">${figures}</div></div>\n`
}

function notes(asset: ReportAsset, { anchors, currency }: Sheet): Markup {
  const { alt, command, model, fields, files, output, picked, cost, took_s } = asset
  const request = fields.map(({ name, text, assets }): Fact => {
    const short = text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text
    const anchor = assets.length === 1 ? anchors.get(assets[0]!) : undefined
    return [name, anchor === undefined ? short : markup`<a href="#${anchor}">${short}</a>`]
  })
  const result: Fact[] = [
    ['file', files.length === 0 ? output : null],
    ['candidate', picked === null ? null : `${picked} was picked`],
    ['cost', cost === null ? null : `${words.costText(cost, currency)} estimated`],
    ['took', words.tookText(took_s)],
    ['inside', files.some((file) => file.credentials) ? 'content credentials' : null],
    ['adopted by', asset.adopted],
    ['gateway', asset.origin],
    ['request', asset.request_id],
    ['remote job', asset.job_id],
  ]
  return markup`<div class="notes">
${problems(asset)}
${promptBlock(asset)}
${alt === null ? null : markup`<div><h4>Alt text</h4><p dir="auto">${alt}</p></div>`}
<div><h4>Request</h4>${factList([['command', command], ['model', model], ...request])}</div>
<div><h4>Result</h4>${factList(result)}</div>
</div>`
}

const billedWords = { no: 'Nothing was billed.', maybe: 'It may have been billed.', yes: 'It was billed.' }

/** Why it is in its state, how it failed, and what to do. */
function problems({ state, reasons, failure, next }: ReportAsset): Markup | null {
  if (reasons.length === 0 && failure === null && next === null) return null
  if (failure === null) {
    const meaning = reasons.length === 0 ? markup`<p>${words.stateWords[state].meaning}</p>` : list(reasons)
    return markup`<div>${meaning}${commandLine(next)}</div>`
  }
  const { message, code, exit_code, billed } = failure
  return markup`<div><p class="failure" dir="auto">${message}</p>
<p class="quiet">${code}, exit code ${exit_code}. ${billedWords[billed]}</p>${list(reasons)}${commandLine(next)}</div>`
}

function promptBlock({ prompt, prompt_file, kind }: ReportAsset): Markup | null {
  if (prompt === null) return null
  const from = prompt_file && markup` <span class="quiet">${prompt_file}</span>`
  const left = prompt.length - maxPromptLength
  return markup`<div><h4>${kind === 'text' ? 'Input' : 'Prompt'}${from}</h4>
<p class="text" dir="auto">${prompt.slice(0, maxPromptLength)}</p>${left > 0 ? markup`<p class="quiet">${left} more characters</p>` : null}</div>`
}

type Fact = readonly [name: string, value: Markup | string | null]

function factList(facts: readonly Fact[]): Markup {
  const known = facts.filter(([, value]) => value !== null)
  return markup`<dl>${known.map(([name, value]) => markup`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}</dl>`
}

function list(items: readonly string[]): Markup | null {
  return items.length === 0
    ? null
    : markup`<ul>${items.map((item) => markup`<li dir="auto">${item}</li>`)}</ul>`
}

function commandLine(command: readonly string[] | null): Markup | null {
  return command && markup`<p><code dir="ltr">${nextCommand(command).toString()}</code></p>`
}

type Subject = Pick<ReportAsset, 'id' | 'alt'>

function closedTile({ id, alt, state }: ReportAsset, shown: ShownFile | undefined): Markup | string {
  if (shown === undefined) return state === 'lost' ? 'The file is gone' : 'Nothing to see yet'
  const { file, thumbnail, text } = shown
  if (thumbnail !== undefined)
    return markup`<img src="${thumbnail}" alt="${alt ?? id}" loading="lazy" decoding="async">`
  return text === undefined
    ? markup`${file.media_type}<br>${words.fileFacts(file)}`
    : markup`<span class="start" dir="auto">${text.start.slice(0, 300)}</span>`
}

function figure(subject: Subject, shown: ShownFile, label: string): Markup {
  const { file, link } = shown
  // Where a result is kept says nothing to people.
  const path = file.path.replace(/^\.modelgate\/.*\//, '')
  return markup`<figure>${content(subject, shown, label)}<figcaption>${label && markup`<b>${label}</b> `}<span dir="auto">${
    link === undefined ? path : markup`<a href="${link}">${path}</a>`
  }</span> <span class="quiet">${words.fileFacts(file)}</span></figcaption></figure>`
}

function content({ id, alt }: Subject, shown: ShownFile, label: string): Markup {
  const { link, element, thumbnail, whole, text } = shown
  const name = alt ?? (label === '' ? id : `${id}, ${label}`)
  const image = whole ?? thumbnail
  if (element === 'img' && image !== undefined) {
    const picture = markup`<img alt="${name}" loading="lazy" decoding="async" src="${{ html: image }}">`
    return whole === undefined ? markup`<a href="${link}">${picture}</a>` : picture
  }
  if (element === 'video' && (whole ?? link) !== undefined) {
    const source = whole === undefined ? markup`preload="none" src="${link}"` : { html: `src="${whole}"` }
    return markup`<video aria-label="${name}" controls muted loop playsinline ${source}></video>`
  }
  if (text === undefined) {
    return markup`<p class="tile">${link === undefined ? 'The file is not here' : 'Not in this page'}</p>`
  }
  const left = text.bytesLeft > 0 && markup`<p class="quiet">${byteText(text.bytesLeft)} more</p>`
  return markup`<div class="text" dir="auto">${text.start}</div>${left}`
}

/** HTML that is whole: tags and quotes are closed, and everything from outside is escaped. */
interface Markup {
  readonly html: string
}

type Insert = string | number | false | null | undefined | Markup | readonly Insert[]

/**
 * Writes HTML from a template. What is inserted is text, wherever it stands: in an element, or in an attribute, which the
 * template has to put in double quotes. Markup is inserted as it is, what is absent as nothing.
 */
function markup(parts: TemplateStringsArray, ...inserts: readonly Insert[]): Markup {
  return { html: parts.reduce((html, part, index) => html + htmlOf(inserts[index - 1]) + part) }
}

function htmlOf(insert: Insert): string {
  if (insert === null || insert === undefined || insert === false) return ''
  if (typeof insert === 'object') return 'html' in insert ? insert.html : insert.map(htmlOf).join('')
  // The same in an element and in an attribute, with what cannot be seen made visible.
  return words.visible(`${insert}`).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Colours are pairs: light, dark. What a state asks of the reader has a colour and a mark, besides its word. */
const style = `
:root { color-scheme: light dark; --page: light-dark(#f4f3f1, #141413); --card: light-dark(#fff, #1d1d1b);
  --line: light-dark(#dedcd7, #33322f); --ink: light-dark(#1b1a18, #ecebe7); --quiet: light-dark(#65625c, #a09d95);
  --accent: light-dark(#3451d1, #93a8ff); --checks: light-dark(#fff, #2a2a28); --other: light-dark(#e8e7e4, #353532) }
[data-tone=failed] { --tone: light-dark(#b3261e, #ff938a) }
[data-tone=decision] { --tone: light-dark(#8a5300, #f3b95f) }
[data-tone=work] { --tone: light-dark(#3f5573, #a7bddb) }
[data-tone=done] { --tone: light-dark(#256b3c, #85cf9c) }
* { box-sizing: border-box; margin: 0; padding: 0 }
body { background: var(--page); color: var(--ink); padding: 1rem clamp(.75rem, 3vw, 2.5rem) 4rem;
  font: .9375rem/1.5 ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; -webkit-text-size-adjust: 100% }
header { display: grid; gap: .25rem; max-width: 60rem }
h1 { font-size: 1.5rem; line-height: 1.2 }
h2 { font-size: 1.05rem; margin: 1.75rem 0 .75rem; color: var(--tone) }
h3 { font-size: .9375rem; font-weight: 600 }
h4 { font-size: .8125rem; font-weight: 600; color: var(--quiet) }
a { color: var(--accent) }
.quiet { color: var(--quiet); font-weight: 400 }
.badge { font-size: .75rem; border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; vertical-align: middle }
.states { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none }
.state { color: var(--tone); white-space: nowrap }
.state::before { content: '■ '; font-size: .6em; vertical-align: .15em }
[data-tone=failed].state::before { content: '▲ ' }
[data-tone=decision].state::before { content: '◆ ' }
[data-tone=work].state::before { content: '○ ' }
.grid { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 45%), 1fr)) }
.asset { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; overflow: clip; min-width: 0 }
.asset[open] { grid-column: 1 / -1 }
.asset:target { outline: 2px solid var(--accent) }
summary { cursor: pointer; list-style: none; display: flex; flex-wrap: wrap; justify-content: space-between; gap: .25rem .75rem; padding: .6rem .75rem }
summary::-webkit-details-marker { display: none }
summary > .tile { margin: -.6rem -.75rem .25rem; flex: 0 0 calc(100% + 1.5rem); height: 11rem }
.asset[open] > summary > .tile { display: none }
img, video { display: block; max-width: 100%;
  background: repeating-conic-gradient(var(--other) 0 25%, var(--checks) 0 50%) 0 0 / 1.25rem 1.25rem }
.tile { display: grid; place-content: center; text-align: center; padding: 1rem; background: var(--page); color: var(--quiet); overflow: hidden }
.tile:has(img) { padding: 0 }
.tile img { max-height: 11rem }
.tile:has(.start) { place-content: start; text-align: start; white-space: pre-wrap; font-size: .8125rem; color: var(--ink) }
.text { white-space: pre-wrap; max-height: 24rem; overflow: auto; max-width: 45rem }
.shots { display: grid; gap: .75rem; padding: .25rem .75rem .75rem; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 45%), 1fr)) }
figure { display: grid; gap: .25rem; align-content: start; min-width: 0 }
figure img, figure video { max-height: 80vh }
figure video { width: 100%; max-width: 34rem; aspect-ratio: 16 / 9 }
.shots:empty { display: none }
.asset > h3 { padding: .6rem .75rem }
figure:has(.text) { grid-column: 1 / -1 }
.notes { display: grid; gap: 1rem; padding: .25rem .75rem .9rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)) }
.failure { font-weight: 600 }
ul { padding-inline-start: 1.2rem }
.states { padding: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .75rem }
dt { color: var(--quiet) }
code { font: .85em ui-monospace, Menlo, Consolas, monospace; background: var(--page); padding: .15rem .4rem; border-radius: .25rem }
@media print { .asset { break-inside: avoid } }
`
