# Completion of modelgate for bash 3.2 and newer, printed by: modelgate completion bash
_modelgate() {
  local line before name program=${COMP_WORDS[0]/#\~/$HOME}
  COMPREPLY=()
  compopt -o nosort 2>/dev/null
  while IFS= read -r line; do
    if [[ $line != $'\t'* ]]; then
      COMPREPLY[${#COMPREPLY[@]}]=$line
      continue
    fi
    # The name of a file, behind what follows the tab.
    before=${line:1}
    [[ -n $before ]] || compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
      if [[ -n $before ]]; then
        # As names of files, bash would quote what stands before them as well.
        [[ -d $name ]] && name=$name/ && compopt -o nospace 2>/dev/null
        printf -v name '%q' "$name"
      fi
      COMPREPLY[${#COMPREPLY[@]}]=$before$name
    done < <(compgen -f -- "${2#"$before"}")
  done < <("$program" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
}
complete -F _modelgate modelgate
