# Completion of modelgate for PowerShell 5 and newer, printed by: modelgate completion powershell
Register-ArgumentCompleter -Native -CommandName modelgate -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program, $words = $commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString().Trim([char[]](34, 39)) }
    $typed = $wordToComplete.TrimStart([char[]](34, 39))
    # With a space behind it, since an empty word would not be passed on.
    $arguments = @('__complete', 'powershell') + @($words | Where-Object { $_ }) + "$typed "
    foreach ($line in & $program @arguments 2>$null) {
        if (-not $line.StartsWith("`t")) {
            $text, $value, $about = $line -split "`t", 3
            [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $about)
            continue
        }
        # The name of a file, behind what follows the tab. Where nothing is, PowerShell completes it itself.
        $before = $line.Substring(1)
        if (-not $before) { continue }
        $files = [System.Management.Automation.CompletionCompleters]::CompleteFilename($typed.Substring($before.Length))
        foreach ($file in $files) {
            $text = $before + $file.CompletionText.Trim([char[]](34, 39))
            if ($text -match '[^\w.\\/:+=~-]') { $text = "'" + $text.Replace("'", "''") + "'" }
            [System.Management.Automation.CompletionResult]::new($text, $file.ListItemText, 'ParameterValue', $text)
        }
    }
}
