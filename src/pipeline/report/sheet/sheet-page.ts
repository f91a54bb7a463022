import { startFilters } from './asset-filter.ts'
import { printWhole, startLoading } from './lazy-media.ts'
import { startKeys } from './page-keys.ts'
import { all, find, listen, tell } from './page-parts.ts'
import { startViewer } from './picture-viewer.ts'

/** The script of a contact sheet. The page can be read without it, but for its pictures and videos. */

function startComparisons(): void {
  for (const compare of all('.compare')) {
    const buttons = all<HTMLButtonElement>('.views button', compare)
    for (const button of buttons) {
      button.addEventListener('click', () => {
        compare.dataset['view'] = button.dataset['view']
        for (const other of buttons) other.ariaPressed = String(other === button)
      })
    }
    const split = compare.querySelector<HTMLInputElement>('.split')
    split?.addEventListener('input', () => {
      find('.pair', compare).style.setProperty('--split', String(split.valueAsNumber / 100))
    })
  }
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    tell(`Copied: ${text}`)
  } catch {
    tell(`Copy it by hand: ${text}`)
  }
}

const themes = ['auto', 'light', 'dark'] as const
const stored = 'modelgate-theme'

function setTheme(theme: (typeof themes)[number]): void {
  document.documentElement.dataset['theme'] = theme
  find('#theme').textContent = { auto: '◐ Auto', light: '○ Light', dark: '● Dark' }[theme]
}

function changeTheme(): void {
  const now = themes.findIndex((theme) => theme === document.documentElement.dataset['theme'])
  const theme = themes[(now + 1) % themes.length]!
  setTheme(theme)
  try {
    localStorage.setItem(stored, theme)
  } catch {
    // Storage is closed to this page: the choice holds until it is closed.
  }
}

function startTheme(): void {
  let theme: string | null = null
  try {
    theme = localStorage.getItem(stored)
  } catch {
    // As above.
  }
  setTheme(themes.find((each) => each === theme) ?? 'auto')
  listen('#theme', 'click', changeTheme)
}

function setLayout(layout: 'list' | 'grid'): void {
  document.documentElement.dataset['layout'] = layout
  find('#layout').ariaPressed = String(layout === 'grid')
}

function changeLayout(): void {
  setLayout(document.documentElement.dataset['layout'] === 'grid' ? 'list' : 'grid')
}

startTheme()
startFilters()
startComparisons()
startViewer()
startLoading()
startKeys({ theme: changeTheme, layout: changeLayout })
listen('#layout', 'click', changeLayout)
listen('#print', 'click', () => void printWhole())
// In the grid a name leads to the asset with all that is known of it.
listen('.asset h3 a', 'click', () => setLayout('list'))
document.addEventListener('click', (event) => {
  const text = (event.target as Element).closest<HTMLElement>('[data-copy]')?.dataset['copy']
  if (text !== undefined) void copy(text)
})
