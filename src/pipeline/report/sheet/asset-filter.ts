import { all, find, listen, shownAssets } from './page-parts.ts'

/** Which assets are shown: by states, kind, job, and words in names, prompts and paths. */
export function startFilters(): void {
  const texts = new Map<HTMLElement, string>()
  const search = find<HTMLInputElement>('#search')
  const states = all<HTMLButtonElement>('#states button')

  function textOf(asset: HTMLElement): string {
    let text = texts.get(asset)
    if (text === undefined) {
      text = all('[data-find]', asset)
        .map((element) => element.textContent)
        .join('\n')
        .toLowerCase()
      texts.set(asset, text)
    }
    return text
  }

  function apply(): void {
    const words = search.value.toLowerCase().split(/\s+/)
    const chosen = new Set(states.filter(isPressed).map((button) => button.dataset['state']))
    const [kind, job] = [chosenWord('kind'), chosenWord('job')]
    for (const asset of all('.asset')) {
      const { dataset } = asset
      asset.hidden = !(
        (chosen.size === 0 || chosen.has(dataset['state'])) &&
        (kind === '' || kind === dataset['kind']) &&
        (job === '' || job === dataset['job']) &&
        words.every((word) => textOf(asset).includes(word))
      )
    }
    for (const section of all('section'))
      section.hidden = section.querySelector('.asset:not([hidden])') === null
    const [shown, count] = [shownAssets().length, all('.asset').length]
    find('#count').textContent = shown === count ? '' : `${shown} of ${count}`
    find('#clear').hidden = shown === count
    find('#none').hidden = shown > 0
  }

  function clear(): void {
    search.value = ''
    for (const button of states) button.ariaPressed = 'false'
    for (const select of all<HTMLSelectElement>('.tools select')) select.value = ''
    apply()
  }

  search.addEventListener('input', apply)
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    clear()
    search.blur()
  })
  listen('.tools select', 'change', apply)
  for (const button of states) {
    button.addEventListener('click', () => {
      button.ariaPressed = String(!isPressed(button))
      apply()
    })
  }
  listen('#clear, #show-all', 'click', clear)
}

function isPressed(button: HTMLButtonElement): boolean {
  return button.ariaPressed === 'true'
}

/** There is no choice where all assets are of one kind, or of one job. */
function chosenWord(id: string): string {
  return document.querySelector<HTMLSelectElement>(`#${id}`)?.value ?? ''
}
