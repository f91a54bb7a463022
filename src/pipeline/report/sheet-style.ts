/**
 * The style of the contact sheet. Colours are pairs: light, dark. What a state asks of the reader has a colour and a
 * mark, besides its word.
 */
export const style = `
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
