import { hash } from 'node:crypto'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { byteText } from '../../quantities.ts'
import { markup, nothing, type Markup } from './markup.ts'
import {
  costText,
  factLine,
  fileFacts,
  sectionsOf,
  stateLabel,
  stateWords,
  sumFacts,
  timeText,
  toneOf,
  tookText,
} from './report-words.ts'
import { embedded, linkTo, shownAs, textStart, thumbnail, type SheetPlace } from './sheet-files.ts'
import { style } from './sheet-style.ts'

/** In bytes, of all thumbnails of one asset: 100 assets stay under 6 MB with base64 and their texts. */
const maxAssetBytes = 40_000

/** In characters. A longer prompt is shown by its beginning. */
const maxPromptLength = 20_000

/** In characters. Longer values of fields say nothing in a list. */
const maxFieldLength = 200

interface Sheet {
  readonly place: SheetPlace
  /** The element ids of the tiles, by the ids of the assets. */
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
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    const count = markup`<span class="quiet">${assets.length}</span>`
    yield markup`<section data-tone="${tone}"><h2>${title} ${count}</h2>\n<div class="grid">\n`.html
    for (const asset of assets) yield (await assetTile(sheet, asset)).html
    yield '</div></section>\n'
  }
  yield '</main>\n</body>\n</html>\n'
}

/** Whatever might be in the page, nothing runs, and nothing is loaded but the linked videos. */
function pageStart(report: AssetReport): Markup {
  const { name, manifest, time, sandbox, assets } = report
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
<p>${sumFacts(report)}</p>
<ul class="states">${states}</ul>
</header>
<main>
`
}

/** The thumbnails of an asset, by the digests of their pictures. */
type Thumbnails = ReadonlyMap<string, string>

/** One asset: its picture and its state; opened, what it was made from and all there is to compare. */
async function assetTile(sheet: Sheet, asset: ReportAsset): Promise<Markup> {
  const { id, files, before, candidates, state } = asset
  const thumbnails = await thumbnailsOf(sheet.place, [
    ...files,
    ...before,
    ...candidates.flatMap(({ files }) => files),
  ])
  const [now, then] = state === 'changed' ? ['Changed by hand', 'As locked'] : ['After', 'Before']
  const shots: Markup[] = []
  for (const file of before) shots.push(await figure(sheet, asset, file, then, thumbnails))
  for (const file of files)
    shots.push(await figure(sheet, asset, file, before.length === 0 ? '' : now, thumbnails))
  for (const candidate of candidates) shots.push(await candidateShot(sheet, asset, candidate, thumbnails))
  const picture = await tilePicture(sheet, asset, files[0] ?? candidates[0]?.files[0], thumbnails)
  const label = stateLabel(asset)
  return markup`<details class="asset" id="${sheet.anchors.get(id)}" data-state="${label}">
<summary>${picture}
<h3 dir="auto">${id}</h3><span class="state" data-tone="${toneOf(asset)}" title="${stateWords[state].meaning}">${label}</span></summary>
<div class="shots">${shots}</div>
${notes(sheet, asset)}
</details>
`
}

async function thumbnailsOf(place: SheetPlace, pictures: readonly ReportFile[]): Promise<Thumbnails> {
  // The first is also what the tile shows while it is closed.
  const room = maxAssetBytes / (1 + pictures.filter((file) => shownAs(file) === 'img').length)
  const thumbnails = new Map<string, string>()
  for (const file of pictures) {
    const small = thumbnails.has(file.sha256) ? undefined : await thumbnail(place, file, room)
    if (small !== undefined) thumbnails.set(file.sha256, small)
  }
  return thumbnails
}

/** What a tile shows while it is closed. */
async function tilePicture(
  { place }: Sheet,
  { kind, state, alt, id }: ReportAsset,
  file: ReportFile | undefined,
  thumbnails: Thumbnails,
): Promise<Markup> {
  if (file === undefined) {
    return markup`<span class="tile quiet">${state === 'lost' ? 'The file is gone' : 'Nothing to see yet'}</span>`
  }
  const small = thumbnails.get(file.sha256)
  if (small !== undefined) {
    return markup`<span class="tile"><img src="${small}" alt="${alt ?? id}" loading="lazy" decoding="async"></span>`
  }
  const text = kind === 'text' ? await textStart(place, file) : undefined
  return text === undefined
    ? markup`<span class="tile quiet">${file.media_type}<br>${fileFacts(file)}</span>`
    : markup`<span class="tile text" dir="auto">${text.text.slice(0, 300)}</span>`
}

async function candidateShot(
  sheet: Sheet,
  asset: ReportAsset,
  { number, state, files, model, cost, took_s, reasons, pick }: ReportAsset['candidates'][number],
  thumbnails: Thumbnails,
): Promise<Markup> {
  const label = state === 'awaiting' ? `Candidate ${number}` : `Candidate ${number}, ${state}`
  const shots: Markup[] = []
  for (const file of files) shots.push(await figure(sheet, asset, file, label, thumbnails))
  const facts = factLine([
    model,
    took_s === null ? null : tookText(took_s),
    cost === null ? null : costText(cost, sheet.currency),
  ])
  // Why the only result was rejected is said of the asset.
  const why = asset.candidates.length === 1 ? nothing : list(reasons)
  return markup`<div>${shots}<p class="quiet">${facts}</p>
${why}${pick === null ? nothing : commandLine(pick)}</div>`
}

/** A file as far as the page can show it, and the link to it. */
async function figure(
  { place }: Sheet,
  asset: ReportAsset,
  file: ReportFile,
  label: string,
  thumbnails: Thumbnails,
): Promise<Markup> {
  const link = linkTo(place, file)
  // Where a result is kept says nothing to people.
  const shown = file.path.replace(/^\.modelgate\/.*\//, '')
  const path = link === undefined ? shown : markup`<a href="${link}">${shown}</a>`
  const heading = label === '' ? nothing : markup`<b>${label}</b> `
  const caption = markup`<figcaption>${heading}<span dir="auto">${path}</span> <span class="quiet">${fileFacts(file)}</span></figcaption>`
  const element = shownAs(file)
  const name = asset.alt ?? (label === '' ? asset.id : `${asset.id}, ${label}`)
  const whole = element !== undefined && place.embeds ? await embedded(place, file) : undefined
  const small = thumbnails.get(file.sha256)
  if (element === 'img' && (whole ?? small) !== undefined) {
    const image = markup`<img alt="${name}" loading="lazy" decoding="async" src="${{ html: whole ?? small! }}">`
    return markup`<figure>${whole === undefined ? markup`<a href="${link}">${image}</a>` : image}${caption}</figure>`
  }
  if (element === 'video' && (whole ?? link) !== undefined) {
    const source = whole === undefined ? markup`preload="none" src="${link}"` : { html: `src="${whole}"` }
    return markup`<figure><video aria-label="${name}" controls muted loop playsinline ${source}></video>${caption}</figure>`
  }
  const text = asset.kind === 'text' && element === undefined ? await textStart(place, file) : undefined
  if (text === undefined) {
    const why = link === undefined ? 'The file is gone' : 'Not in this page'
    return markup`<figure><p class="tile quiet">${why}</p>${caption}</figure>`
  }
  const left = text.bytesLeft === 0 ? nothing : markup`<p class="quiet">${byteText(text.bytesLeft)} more</p>`
  return markup`<figure class="wide"><div class="text" dir="auto">${text.text}</div>${left}${caption}</figure>`
}

/** All that is written of an asset. */
function notes({ anchors, currency }: Sheet, asset: ReportAsset): Markup {
  const { alt, command, model, fields, files, output, picked, cost, took_s } = asset
  const request = fields.map(({ name, text, assets }): Fact => {
    const short = text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text
    const anchor = assets.length === 1 ? anchors.get(assets[0]!) : undefined
    return [name, anchor === undefined ? short : markup`<a href="#${anchor}">${short}</a>`]
  })
  const result: Fact[] = [
    ['file', files.length === 0 ? output : null],
    ['candidate', picked === null ? null : `${picked} was picked`],
    ['cost', cost === null ? null : `${costText(cost, currency)} estimated`],
    ['took', took_s === null ? null : tookText(took_s)],
    ['inside', files.some((file) => file.credentials) ? 'content credentials' : null],
    ['adopted by', asset.adopted],
    ['gateway', asset.origin],
    ['request', asset.request_id],
    ['remote job', asset.job_id],
  ]
  return markup`<div class="notes">
${problems(asset)}
${promptBlock(asset)}
${alt === null ? nothing : markup`<div><h4>Alt text</h4><p dir="auto">${alt}</p></div>`}
<div><h4>Request</h4>${factList([['command', command], ['model', model], ...request])}</div>
<div><h4>Result</h4>${factList(result)}</div>
</div>`
}

const billedWords = { no: 'Nothing was billed.', maybe: 'It may have been billed.', yes: 'It was billed.' }

/** Why it is in its state, how it failed, and what to do. */
function problems({ state, reasons, failure, next }: ReportAsset): Markup {
  if (reasons.length === 0 && failure === null && next === null) return nothing
  const failed =
    failure === null
      ? nothing
      : markup`<p class="failure" dir="auto">${failure.message}</p>
<p class="quiet">${failure.code}, exit code ${failure.exit_code}. ${billedWords[failure.billed]}</p>`
  const isTold = reasons.length > 0 || failure !== null || state === 'fresh'
  const meaning = isTold ? nothing : markup`<p>${stateWords[state].meaning}</p>`
  return markup`<div>${failed}${meaning}${list(reasons)}${next === null ? nothing : commandLine(next)}</div>`
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

function commandLine(words: readonly string[]): Markup {
  return markup`<p><code dir="ltr">${nextCommand(words).toString()}</code></p>`
}
