import type { ReportAsset } from '../../events/asset-report.ts'
import { assetStage, commandToCopy } from './asset-stage.ts'
import { markup, nothing, type Markup } from './markup.ts'
import { costText, fileFacts, stateLabel, tookText } from './report-words.ts'
import type { SheetMedia } from './sheet-media.ts'
import { stateWords, toneOf } from './state-words.ts'

export interface CardContext {
  readonly media: SheetMedia
  readonly currency: string | null
  /** The element ids of the cards, by the ids of the assets. */
  readonly anchors: ReadonlyMap<string, string>
}

/** One asset of a contact sheet: what there is to see, beside what was asked for. */
export async function assetCard(context: CardContext, asset: ReportAsset): Promise<Markup> {
  const { id, job, command, kind, state } = asset
  const anchor = context.anchors.get(id)!
  const label = stateLabel(asset)
  return markup`<article class="asset" id="${anchor}" tabindex="-1" aria-labelledby="${anchor}-name"
 data-state="${label}" data-job="${job}" data-kind="${kind}">
<header>
<h3 id="${anchor}-name" dir="auto" data-find><a href="#${anchor}">${id}</a></h3>
<span class="state" data-tone="${toneOf(asset)}" title="${stateWords[state].meaning}">${label}</span>
<span class="command-name">${command}</span>
</header>
<div class="stage">${await assetStage(context.media, asset, context.currency)}</div>
<div class="notes">
${problems(asset)}
${asset.prompt === null ? nothing : promptBlock(asset, asset.prompt)}
${asset.alt === null ? nothing : labelled('Alt text', markup`<p dir="auto" data-find>${asset.alt}</p>`)}
${requestFacts(context, asset)}
${resultFacts(context, asset)}
</div>
</article>
`
}

function labelled(label: string, content: Markup): Markup {
  return markup`<div class="block"><h4>${label}</h4>${content}</div>`
}

/** Why it is in its state, how it failed, and what to do. */
function problems({ state, reasons, failure, next }: ReportAsset): Markup {
  if (reasons.length === 0 && failure === null && next === null) return nothing
  const billed = { no: 'Nothing was billed.', maybe: 'It may have been billed.', yes: 'It was billed.' }
  return markup`<div class="block why">
${
  failure === null
    ? nothing
    : markup`<p class="failure" dir="auto">${failure.message}</p>
<p class="quiet">${failure.code}, exit code ${failure.exit_code}. ${billed[failure.billed]}</p>`
}
${
  reasons.length === 0
    ? markup`${state === 'fresh' || failure !== null ? nothing : markup`<p>${stateWords[state].meaning}</p>`}`
    : markup`<ul>${reasons.map((reason) => markup`<li dir="auto">${reason}</li>`)}</ul>`
}
${next === null ? nothing : commandToCopy(next)}
</div>`
}

/** In characters. A longer prompt is shown by its beginning. */
const maxPromptLength = 20_000

function promptBlock({ prompt_file, kind }: ReportAsset, prompt: string): Markup {
  const label = kind === 'text' ? 'Input' : 'Prompt'
  const from = prompt_file === null ? nothing : markup` <span class="quiet" data-find>${prompt_file}</span>`
  const left = prompt.length - maxPromptLength
  const rest = left > 0 ? markup`<p class="quiet">${left} more characters</p>` : nothing
  return markup`<div class="block"><h4>${label}${from}</h4>
<p class="prompt" dir="auto" data-find>${prompt.slice(0, maxPromptLength)}</p>${rest}</div>`
}

/** Longer values of fields say nothing in a list. */
const maxFieldLength = 200

type Fact = readonly [name: string, value: Markup | string | null]

function requestFacts({ anchors }: CardContext, { model, fields }: ReportAsset): Markup {
  const facts = fields.map(({ name, text, assets }): Fact => {
    const short = text.length > maxFieldLength ? `${text.slice(0, maxFieldLength)}…` : text
    const anchor = assets.length === 1 ? anchors.get(assets[0]!) : undefined
    return [name, anchor === undefined ? short : markup`<a href="#${anchor}">${short}</a>`]
  })
  return labelled('Request', factList([['model', model], ...facts]))
}

function resultFacts({ media, currency }: CardContext, asset: ReportAsset): Markup {
  const { files, output, took_s, cost, request_id, job_id, origin, adopted, picked } = asset
  const facts = factList([
    ...files.map((file): Fact => ['file', fileLink(media, file)]),
    ['file', files.length === 0 ? markup`<span data-find>${output}</span>` : null],
    ['size', files.length === 0 ? null : files.map((file) => fileFacts(file).join(' · ')).join(', ')],
    ['candidate', picked === null ? null : `${picked} was picked`],
    ['cost', cost === null ? null : `${costText(cost, currency)} estimated`],
    ['took', took_s === null ? null : tookText(took_s)],
    ['inside', files.some((file) => file.credentials) ? 'content credentials' : null],
    ['adopted by', adopted],
  ])
  const origins: readonly Fact[] = [
    ['gateway', origin],
    ['request', request_id],
    ['remote job', job_id],
  ]
  const more = origins.some(([, value]) => value !== null)
    ? markup`<details><summary>Where it came from</summary>${factList(origins)}</details>`
    : nothing
  return labelled('Result', markup`${facts}${more}`)
}

function factList(facts: readonly Fact[]): Markup {
  const rows = facts.map(([name, value]) =>
    value === null ? nothing : markup`<dt>${name}</dt><dd dir="auto">${value}</dd>`,
  )
  return markup`<dl>${rows}</dl>`
}

function fileLink(media: SheetMedia, file: ReportAsset['files'][number]): Markup {
  const link = media.linkTo(file)
  const name = markup`<span data-find>${file.path}</span>`
  return link === undefined ? name : markup`<a href="${link}">${name}</a>`
}
