import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { byteText } from '../../quantities.ts'
import { markup, nothing, type Markup } from './markup.ts'
import {
  costText,
  fileFacts,
  sectionsOf,
  stateLabel,
  stateWords,
  sumFacts,
  timeText,
  toneOf,
  tookText,
} from './report-words.ts'
import { base64Of, linkTo, shownAs, textStart, thumbnail, type SheetPlace } from './sheet-files.ts'
import { style } from './sheet-style.ts'

/** The page before it is written: text, and the files whose base64 belongs between. */
type Piece = Markup | { readonly path: string }

/** How many bytes all thumbnails of one asset have: 100 assets stay under 6 MB with base64 and their texts. */
const maxAssetBytes = 40_000

/**
 * Writes a report as one HTML page without a script that loads nothing from elsewhere: a grid of thumbnails that open,
 * with links to the files, or with the files in it. Piece by piece, so that they need not be in memory together.
 */
export async function* contactSheet(report: AssetReport, place: SheetPlace): AsyncIterable<string> {
  const anchors = new Map(report.assets.map(({ id }, index) => [id, `a${index + 1}`]))
  yield pageStart(report).html
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    const count = markup`<span class="quiet">${assets.length}</span>`
    yield markup`<section data-tone="${tone}"><h2>${title} ${count}</h2>\n<div class="grid">\n`.html
    for (const asset of assets) {
      for (const piece of await assetTile({ place, anchors, currency: report.sums.currency }, asset)) {
        if ('html' in piece) yield piece.html
        else yield* base64Of(piece.path)
      }
    }
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
<p>${sumFacts(report).join(' · ')}</p>
<ul class="states">${states}</ul>
</header>
<main>
`
}

interface Sheet {
  readonly place: SheetPlace
  /** The element ids of the tiles, by the ids of the assets. */
  readonly anchors: ReadonlyMap<string, string>
  readonly currency: string | null
}

/** One asset: its picture and its state; opened, what it was made from and all there is to compare. */
async function assetTile(sheet: Sheet, asset: ReportAsset): Promise<Piece[]> {
  const { id, command, files, before, candidates, alt } = asset
  const pictures = [...files, ...before, ...candidates.flatMap(({ files }) => files)]
  // The first is also what the tile shows while it is closed.
  const room = maxAssetBytes / (1 + pictures.filter((file) => shownAs(file) === 'img').length)
  const thumbnails = new Map<string, string>()
  for (const file of pictures) {
    const small = thumbnails.has(file.sha256) ? undefined : await thumbnail(sheet.place, file, room)
    if (small !== undefined) thumbnails.set(file.sha256, small)
  }
  const figure = (file: ReportFile, label: string) => fileFigure(sheet, asset, file, label, thumbnails)
  const [now, then] = asset.state === 'changed' ? ['Changed by hand', 'As locked'] : ['After', 'Before']
  const shown: Piece[] = []
  for (const file of before) shown.push(...(await figure(file, then)))
  for (const file of files) shown.push(...(await figure(file, before.length === 0 ? '' : now)))
  for (const { number, state, files, model, cost, took_s, reasons, pick } of candidates) {
    shown.push(markup`<div>`)
    for (const file of files) shown.push(...(await figure(file, `Candidate ${number}, ${state}`)))
    const facts = [
      model,
      took_s === null ? null : tookText(took_s),
      cost === null ? null : costText(cost, sheet.currency),
    ]
    shown.push(markup`<p class="quiet">${facts.filter((fact) => fact !== null).join(' · ')}</p>
${list(reasons)}${pick === null ? nothing : commandLine(pick)}</div>`)
  }
  const first = files[0] ?? candidates[0]?.files[0]
  const label = stateLabel(asset)
  const anchor = sheet.anchors.get(id)!
  return [
    markup`<details class="asset" id="${anchor}" data-state="${label}">
<summary>${await tilePicture(sheet, asset, first, first && thumbnails.get(first.sha256))}
<h3 dir="auto">${id}</h3><span class="state" data-tone="${toneOf(asset)}" title="${stateWords[asset.state].meaning}">${label}</span></summary>
<div class="shots">`,
    ...shown,
    markup`</div>
<div class="notes">
${problems(asset)}
${asset.prompt === null ? nothing : promptBlock(asset, asset.prompt)}
${alt === null ? nothing : markup`<div><h4>Alt text</h4><p dir="auto">${alt}</p></div>`}
<div><h4>Request</h4>${factList([['command', command], ['model', asset.model], ...fieldFacts(sheet, asset)])}</div>
<div><h4>Result</h4>${resultFacts(sheet, asset)}</div>
</div></details>
`,
  ]
}

/** What a tile shows while it is closed. */
async function tilePicture(
  { place }: Sheet,
  { kind, state, alt, id }: ReportAsset,
  file: ReportFile | undefined,
  small: string | undefined,
): Promise<Markup> {
  if (small !== undefined) {
    return markup`<img src="${small}" alt="${alt ?? id}" loading="lazy" decoding="async">`
  }
  const text = file !== undefined && kind === 'text' ? await textStart(place, file) : undefined
  if (text !== undefined) return markup`<span class="tile text" dir="auto">${text.text.slice(0, 300)}</span>`
  const words =
    file !== undefined
      ? [file.media_type, ...fileFacts(file)].join(' · ')
      : state === 'lost'
        ? 'The file is gone'
        : 'Nothing to see yet'
  return markup`<span class="tile quiet">${words}</span>`
}

/** A file as far as the page can show it, and the link to it. */
async function fileFigure(
  { place }: Sheet,
  { id, alt, kind }: ReportAsset,
  file: ReportFile,
  label: string,
  thumbnails: ReadonlyMap<string, string>,
): Promise<Piece[]> {
  const link = linkTo(place, file)
  const small = thumbnails.get(file.sha256)
  const facts = fileFacts(file).join(' · ')
  const path = link === undefined ? markup`${file.path}` : markup`<a href="${link}">${file.path}</a>`
  const rest = markup`<figcaption>${label === '' ? nothing : markup`<b>${label}</b> `}<span dir="auto">${path}</span> <span class="quiet">${facts}</span></figcaption></figure>`
  const name = alt ?? (label === '' ? id : `${id}, ${label}`)
  const element = shownAs(file)
  if (element !== undefined && place.embeds && file.stored !== null) {
    const start =
      element === 'img'
        ? markup`<figure><img alt="${name}" loading="lazy" decoding="async" src="data:${file.media_type};base64,`
        : markup`<figure><video aria-label="${name}" controls muted loop playsinline src="data:${file.media_type};base64,`
    const end = { html: element === 'img' ? '">' : '"></video>' }
    return [start, { path: join(place.folder, file.stored) }, end, rest]
  }
  if (small !== undefined && link !== undefined) {
    const image = markup`<img src="${small}" alt="${name}" loading="lazy" decoding="async">`
    return [markup`<figure><a href="${link}">${image}</a>`, rest]
  }
  if (element === 'video' && link !== undefined) {
    const attributes = markup`aria-label="${name}" controls muted loop playsinline preload="none"`
    return [markup`<figure><video src="${link}" ${attributes}></video>`, rest]
  }
  const text = kind === 'text' && element === undefined ? await textStart(place, file) : undefined
  if (text === undefined) {
    return [
      markup`<figure><p class="tile quiet">${link === undefined ? 'The file is gone' : 'Not in this page'}</p>`,
      rest,
    ]
  }
  const left = text.bytesLeft === 0 ? nothing : markup`<p class="quiet">${byteText(text.bytesLeft)} more</p>`
  return [markup`<figure class="wide"><div class="text" dir="auto">${text.text}</div>${left}`, rest]
}

function list(items: readonly string[]): Markup {
  if (items.length === 0) return nothing
  return markup`<ul>${items.map((item) => markup`<li dir="auto">${item}</li>`)}</ul>`
}

function commandLine(words: readonly string[]): Markup {
  return markup`<p><code dir="ltr">${nextCommand(words).toString()}</code></p>`
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
  const meaning = reasons.length > 0 || failure !== null || state === 'fresh'
  return markup`<div>${failed}${meaning ? nothing : markup`<p>${stateWords[state].meaning}</p>`}${list(reasons)}${
    next === null ? nothing : commandLine(next)
  }</div>`
}

/** In characters. A longer prompt is shown by its beginning. */
const maxPromptLength = 20_000

function promptBlock({ prompt_file, kind }: ReportAsset, prompt: string): Markup {
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

/** Longer values of fields say nothing in a list. */
const maxFieldLength = 200

function fieldFacts({ anchors }: Sheet, { fields }: ReportAsset): Fact[] {
  return fields.map(({ name, text, assets }): Fact => {
    const short = text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text
    const anchor = assets.length === 1 ? anchors.get(assets[0]!) : undefined
    return [name, anchor === undefined ? short : markup`<a href="#${anchor}">${short}</a>`]
  })
}

function resultFacts({ currency }: Sheet, asset: ReportAsset): Markup {
  const { files, output, took_s, cost, request_id, job_id, origin, adopted, picked } = asset
  return factList([
    ['file', files.length === 0 ? output : null],
    ['candidate', picked === null ? null : `${picked} was picked`],
    ['cost', cost === null ? null : `${costText(cost, currency)} estimated`],
    ['took', took_s === null ? null : tookText(took_s)],
    ['inside', files.some((file) => file.credentials) ? 'content credentials' : null],
    ['adopted by', adopted],
    ['gateway', origin],
    ['request', request_id],
    ['remote job', job_id],
  ])
}
