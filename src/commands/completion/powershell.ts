import { allNodes, ownName, valueFlagNames, type CommandNode, type Flag } from './tree.ts'

/** A native argument completer for PowerShell 5 and 7; where it offers nothing, PowerShell completes file names. */
export function powershellCompletion(root: CommandNode): string {
  const nodes = allNodes(root)
  const withoutCommon = nodes.filter(({ takesCommon }) => !takesCommon).map(({ path }) => path)
  return `# Completion of modelgate for PowerShell, printed by: modelgate completion powershell
Register-ArgumentCompleter -Native -CommandName modelgate -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # Commands and options by the words that lead to them, each with what the help says.
    $commands = @{
${nodes
  .filter(({ children }) => children.length > 0)
  .map(commandTable)
  .join('\n')}
    }
    $flags = @{
${nodes.map(flagTable).join('\n')}
    }
    # What an option or an argument may be.
    $values = @{
${nodes.flatMap(valueTable).join('\n')}
    }
    # What the program is asked for.
    $lives = @{
${nodes.flatMap(liveTable).join('\n')}
    }
    $takesValue = ${list(valueFlagNames(root))}
    $withoutCommon = ${list(withoutCommon)}

    $path = ''
    $previous = ''
    $live = $null
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -ge $cursorPosition -and $wordToComplete -ne '') { break }
        $word = $element.ToString()
        if ($takesValue -cnotcontains $previous -and $commands.ContainsKey($path) -and $commands[$path].Contains($word)) {
            $path = "$path $word".Trim()
        }
        $previous = $word
    }

    if ($takesValue -ccontains $previous) {
        $found = @($values["$path $previous"]) + @($values[" $previous"])
        $live = if ($lives["$path $previous"]) { $lives["$path $previous"] } else { $lives[" $previous"] }
    } elseif ($wordToComplete.StartsWith('-')) {
        $found = @($flags[$path].Keys)
        if ($withoutCommon -cnotcontains $path) { $found += @($flags[''].Keys) }
    } else {
        $found = @($values[$path])
        $live = $lives[$path]
        if ($commands.ContainsKey($path)) { $found += @($commands[$path].Keys) }
    }

    $typed = $wordToComplete.TrimStart([char[]](34, 39))
    $program = $commandAst.CommandElements[0].ToString()
    $known = if ($live) { & $program __complete $live $path.Split(' ') 2>$null }
    foreach ($line in $known) {
        $value, $about = $line -split "\`t", 2
        if (-not $value -or -not $value.StartsWith($typed)) { continue }
        $text = if ($value -match '^[\\w./:+-]+$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
        if (-not $about) { $about = $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $about)
    }

    $found | Where-Object { $_ -and $_.StartsWith($wordToComplete) } | Select-Object -Unique | ForEach-Object {
        $about = $_
        foreach ($table in @($commands[$path], $flags[$path], $flags[''])) {
            if ($table -and $table.Contains($_)) { $about = $table[$_]; break }
        }
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $about)
    }
}
`
}

function commandTable(node: CommandNode): string {
  const rows = node.children.map((child) => `            ${quote(ownName(child))} = ${quote(child.about)}`)
  return table(node.path, rows)
}

/** Long names only: keys of PowerShell's hash tables are case-insensitive, so -v would collide with -V. */
function flagTable(node: CommandNode): string {
  const rows = node.flags.flatMap(({ names, about }) =>
    names.filter((name) => name.startsWith('--')).map((name) => `            '${name}' = ${quote(about)}`),
  )
  return table(node.path, rows)
}

function table(path: string, rows: readonly string[]): string {
  return `        '${path}' = [ordered]@{
${rows.join('\n')}
        }`
}

function valueTable({ path, flags, argument }: CommandNode): string[] {
  const own = argument === undefined || argument.words.length === 0 ? [] : [row(path, argument.words)]
  return [...own, ...flags.flatMap((flag) => flagValues(path, flag))]
}

function flagValues(path: string, { names, value }: Flag): string[] {
  if (value === undefined || value.words.length === 0) return []
  return names.filter((name) => name.startsWith('--')).map((name) => row(`${path} ${name}`, value.words))
}

function liveTable({ path, flags, argument }: CommandNode): string[] {
  const own = argument?.live === undefined ? [] : [`        '${path}' = '${argument.live}'`]
  const options = flags.flatMap(({ names, value }) =>
    value?.live === undefined
      ? []
      : names
          .filter((name) => name.startsWith('--'))
          .map((name) => `        '${path} ${name}' = '${value.live}'`),
  )
  return [...own, ...options]
}

function row(key: string, words: readonly string[]): string {
  return `        '${key}' = ${list(words)}`
}

function list(words: readonly string[]): string {
  return `@(${words.map(quote).join(', ')})`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
