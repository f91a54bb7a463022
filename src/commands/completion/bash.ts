import { allNodes, ownName, valueFlagNames, type CommandNode, type Flag, type Value } from './tree.ts'

/** Works on bash 3.2, which macOS has, and needs no other completion script. */
export function bashCompletion(root: CommandNode): string {
  const nodes = allNodes(root)
  const commands = nodes.flatMap(({ path, children }) =>
    children.map((child) => `      '${path}/${ownName(child)}') path='${child.path}' ;;`),
  )
  const flags = nodes
    .slice(1)
    .filter((node) => node.flags.length > 0)
    .map(
      (node) =>
        `      '${node.path}') flags="${node.takesCommon ? '$flags ' : ''}${namesOf(node.flags).join(' ')}" ;;`,
    )
  return `# Completion of modelgate for bash, printed by: modelgate completion bash
_modelgate() {
  local cur prev word path='' flags words='' files='' live='' rest='' index=1
  COMPREPLY=()
  cur=\${COMP_WORDS[COMP_CWORD]}
  prev=\${COMP_WORDS[COMP_CWORD - 1]}
  # bash makes words of their own of "=" and "@", but replaces the "@" with the word after it.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]] && ((COMP_CWORD > 1)); then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $prev == '@' ]] && ((COMP_CWORD > 1)); then
    _modelgate_files "$cur" @
    return
  fi
  while ((index < COMP_CWORD)); do
    word=\${COMP_WORDS[index]}
    case "$path/$word" in
${commands.join('\n')}
    esac
    case "$word" in
      --) rest=yes ;;
      ${valueFlagNames(root).join('|')})
        ((index++))
        [[ \${COMP_WORDS[index]} == '=' ]] && ((index++))
        ;;
    esac
    ((index++))
  done
  # What the option before the cursor takes.
  if [[ -z $rest ]]; then
    case "$path $prev" in
${optionCases(nodes).join('\n')}
      *) prev='' ;;
    esac
    if [[ $prev == -* ]]; then
      _modelgate_value
      return
    fi
  fi
  flags='${namesOf(root.flags).join(' ')}'
  if [[ -z $rest && $cur == -* ]]; then
    case "$path" in
${flags.join('\n')}
    esac
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  case "$path" in
${nodes.map((node) => `    '${node.path}') ${assign(positionals(node))} ;;`).join('\n')}
  esac
  _modelgate_value
}

# Completes one of $words, what the program knows of $live, or the name of a file.
_modelgate_value() {
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -n $live ]] && _modelgate_live
  if [[ $files == plain ]]; then
    _modelgate_files "$cur" ''
  elif [[ $files == at && $cur == @* ]]; then
    _modelgate_files "\${cur#@}" @
  fi
}

# Asks the program for values that begin as the word at the cursor does; they may hold anything.
_modelgate_live() {
  local value typed=$cur before='' quote='' program=\${COMP_WORDS[0]/#\\~/$HOME}
  case $cur in
    [\\"\\']*)
      quote=\${cur:0:1}
      typed=\${cur:1}
      ;;
    *)
      # bash takes a colon for the end of a word, and keeps what is before it.
      if [[ -n $COMP_LINE && $COMP_WORDBREAKS == *:* && $cur$prev == *:* ]]; then
        typed=\${COMP_LINE:0:COMP_POINT}
        typed=\${typed##*[[:space:]]}
        [[ $typed == -*=* ]] && typed=\${typed#*=}
        before=\${typed%"\${typed##*:}"}
      fi
      typed=\${typed//\\\\/}
      ;;
  esac
  compopt -o nosort 2>/dev/null
  while IFS=$'\\t' read -r value _; do
    [[ -n $value && $value == "$typed"* ]] || continue
    if [[ -n $quote ]]; then
      # What acts inside quotes cannot be completed there.
      [[ $value == *[\\"\\'\\$\\\`\\\\!]* ]] && continue
    else
      value=\${value#"$before"}
      printf -v value '%q' "$value"
    fi
    COMPREPLY[\${#COMPREPLY[@]}]=$value
  done < <("$program" __complete "$live" $path 2>/dev/null </dev/null)
}

# Completes the name of a file that may have spaces in it.
_modelgate_files() {
  local name
  while IFS= read -r name; do
    if [[ -n $2 ]]; then
      # bash would quote the "@" as well.
      [[ -d $name ]] && name=$name/ && compopt -o nospace 2>/dev/null
      printf -v name '%q' "$name"
    else
      compopt -o filenames 2>/dev/null
    fi
    COMPREPLY[\${#COMPREPLY[@]}]=$2$name
  done < <(compgen -f -- "$1")
}

complete -F _modelgate modelgate
`
}

/** One line for all options that are completed in the same way. */
function optionCases(nodes: readonly CommandNode[]): string[] {
  const options = nodes.flatMap(({ path, flags }) => flags.flatMap((flag) => patterns(path, flag)))
  return Object.entries(Object.groupBy(options, ({ assignment }) => assignment)).map(
    ([assignment, same]) => `      ${same!.map(({ pattern }) => pattern).join('|')}) ${assignment} ;;`,
  )
}

function patterns(path: string, { names, value }: Flag): { pattern: string; assignment: string }[] {
  if (value === undefined) return []
  // The program's own options are understood after every command.
  return names.map((name) => ({
    pattern: path === '' ? `*' ${name}'` : `'${path} ${name}'`,
    assignment: assign(value),
  }))
}

type Completed = Pick<Value, 'words' | 'files' | 'live'>

function assign({ words, files, live }: Completed): string {
  const parts = [
    ...(words.length === 0 ? [] : [`words='${words.join(' ')}'`]),
    ...(files === 'none' ? [] : [`files=${files}`]),
    ...(live === undefined ? [] : [`live=${live}`]),
  ]
  return parts.length === 0 ? ':' : parts.join(' ')
}

function positionals({ children, argument }: CommandNode): Completed {
  const { words = [], files = 'none', ...rest } = argument ?? {}
  return { ...rest, words: [...children.map(ownName), ...words], files }
}

function namesOf(flags: readonly Flag[]): string[] {
  return flags.flatMap(({ names }) => names)
}
