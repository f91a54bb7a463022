import { allNodes, ownName, valueFlagNames, type CommandNode, type Flag, type Value } from './tree.ts'

/** A function for zsh's completion system: as the file `_modelgate` in `$fpath`, or evaluated. */
export function zshCompletion(root: CommandNode): string {
  return `#compdef modelgate
# Completion of modelgate for zsh, printed by: modelgate completion zsh

${allNodes(root)
  .map((node) => functionOf(node, root))
  .join('\n')}
# Completes one of the given words, or after an "@" the name of a file.
_modelgate_at_file() {
  if compset -P '@'; then
    _files
  elif (($#)); then
    compadd -- "$@"
  else
    return 1
  fi
}

# Sets modelgate_command to the command that the words before the cursor call.
_modelgate_path() {
  local word skip=''
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $skip ]]; then
      skip=''
      continue
    fi
    case $word in
      ${valueFlagNames(root).join('|')}) skip=yes ;;
    esac
    case "$modelgate_command/$word" in
${steps(root).join('\n')}
    esac
  done
}

# Completes what the program knows of a kind of values, for the command that is called.
_modelgate_live() {
  local line
  local -a lines values shown
  local -i width=0
  lines=("\${(@f)"$(\${~modelgate_program} __complete $1 \${=modelgate_command} 2>/dev/null </dev/null)"}")
  for line in $lines; do
    values+=("\${line%%$'\\t'*}")
    ((\${#values[-1]} > width)) && width=\${#values[-1]}
  done
  for line in $lines; do
    shown+=("\${(r:width:)line%%$'\\t'*}  \${line#*$'\\t'}")
  done
  (($#values)) && compadd -V "modelgate-$1" -l -d shown -a values
}

if [[ $funcstack[1] == _modelgate ]]; then
  _modelgate "$@"
else
  compdef _modelgate modelgate
fi
`
}

function steps(root: CommandNode): string[] {
  return allNodes(root).flatMap(({ path, children }) =>
    children.map((child) => `      '${path}/${ownName(child)}') modelgate_command='${child.path}' ;;`),
  )
}

function functionOf(node: CommandNode, root: CommandNode): string {
  const isRoot = node === root
  const flags = (isRoot ? root.flags : node.flags).map((flag) => `    ${specification(flag)}`)
  const name = functionName(node)
  const intro = isRoot
    ? `  local -a common_flags
  common_flags=(
${flags.join('\n')}
  )`
    : `  local -a flags
  flags=(
${flags.join('\n')}
  )`
  const all = [
    ...(node.takesCommon ? ['"${common_flags[@]}"'] : []),
    ...(isRoot ? [] : ['"${flags[@]}"']),
  ].join(' ')
  return `${name}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
${isRoot ? `  local modelgate_program=\${(Q)words[1]} modelgate_command=''\n  _modelgate_path\n` : ''}${intro}
${node.children.length === 0 ? leaf(node, all) : branch(node, all)}
}
`
}

function leaf({ argument }: CommandNode, flags: string): string {
  const rest = argument === undefined ? '' : ` ${quote(`*:${message(argument)}`)}`
  return `  _arguments -s -S ${flags}${rest}`
}

function branch(node: CommandNode, flags: string): string {
  const commands = node.children.map(
    (child) => `    ${quote(`${ownName(child)}:${child.about.replaceAll(':', '\\:')}`)}`,
  )
  const cases = node.children.map((child) => `    ${ownName(child)}) ${functionName(child)} ;;`)
  const { argument } = node
  // What is no command of the group may be an argument of its own.
  const ownFirst = argument === undefined ? '' : `; ${action(argument).trim()}`
  const ownRest = argument === undefined ? [] : [`    *)${leaf(node, flags)} ;;`]
  return `  local -a commands
  commands=(
${commands.join('\n')}
  )
  _arguments -C -s -S ${flags} '1: :->command' '*:: :->rest' && return
  case $state in
    command) _describe command commands${ownFirst} ;;
    rest) case $words[1] in
${[...cases, ...ownRest].join('\n')}
    esac ;;
  esac`
}

/** One option as an `_arguments` spec. */
function specification({ names, about, repeatable, value }: Flag): string {
  // "=" and "+": the value may be the next word, or follow at once.
  const signs =
    value === undefined ? names : names.map((name) => `${name}${name.startsWith('--') ? '=' : '+'}`)
  const exclusive = repeatable ? '*' : names.length > 1 ? `(${names.join(' ')})` : ''
  const spelled = signs.length > 1 ? `{${signs.join(',')}}` : signs[0]
  const explained = `[${about.replaceAll(/[\\[\]]/g, '\\$&')}]`
  const rest = quote(value === undefined ? explained : `${explained}:${message(value)}`)
  return `${exclusive === '' ? '' : quote(exclusive)}${spelled}${rest}`
}

function message({ name, ...value }: Value): string {
  return `${name.replaceAll(':', '\\:')}:${action(value)}`
}

function action({ words, files, live }: Omit<Value, 'name'>): string {
  if (live !== undefined) return ` _modelgate_live ${live}`
  // With a leading space zsh does not insert its own options before the words.
  if (files === 'at') return ` ${['_modelgate_at_file', ...words].join(' ')}`
  if (files === 'plain') return '_files'
  return words.length > 0 ? `(${words.join(' ')})` : ' '
}

function functionName({ path }: CommandNode): string {
  return ['_modelgate', ...path.split(' ').filter((word) => word !== '')].join('_').replaceAll('-', '_')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
