/** A Markdown table with its columns aligned, as the formatter leaves them. */
export function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heading, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)))
  const widths = heading.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)))
  const lines = cells.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))))
  return [lines[0], line(widths.map((width) => '-'.repeat(width))), ...lines.slice(1)].join('\n')
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
