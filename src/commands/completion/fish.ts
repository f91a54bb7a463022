import { allNodes, ownName, valueFlagNames, type CommandNode, type Flag, type Value } from './tree.ts'

/** One `complete` line for each word; three functions determine the command at the cursor. */
export function fishCompletion(root: CommandNode): string {
  const nodes = allNodes(root)
  const withoutCommon = nodes.filter(({ takesCommon }) => !takesCommon).map(({ path }) => `'${path}'`)
  const steps = nodes.flatMap(({ path, children }) =>
    children.map(
      (child) => `                    case '${path}/${ownName(child)}'
                        set path '${child.path}'`,
    ),
  )
  return `# Completion of modelgate for fish, printed by: modelgate completion fish

# The command that the words before the cursor call.
function __modelgate_path
    set -l words (commandline -opc)
    set -l path ''
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case ${valueFlagNames(root).join(' ')}
                set skip yes
            case '-*'
            case '*'
                switch "$path/$word"
${steps.join('\n')}
                end
        end
    end
    echo $path
end

function __modelgate_is
    set -l path (__modelgate_path)
    test "$path" = "$argv"
end

# Whether the options of every command mean something to the one that is called.
function __modelgate_takes_common
    set -l path (__modelgate_path)
    not contains -- "$path" ${withoutCommon.join(' ')}
end

# What the program knows of a kind of values, for the command that is called.
function __modelgate_live
    set -l words (commandline -opc)
    type -q -- $words[1]; or return
    $words[1] __complete $argv (string split -n ' ' -- (__modelgate_path)) 2>/dev/null </dev/null
end

# File names after an "@".
function __modelgate_at_files
    set -l word (commandline -ct)
    string match -q '@*' -- $word; or return
    for name in (__fish_complete_path (string sub -s 2 -- $word))
        echo "@$name"
    end
end

complete -c modelgate -f
${nodes.flatMap((node) => linesOf(node, node === root)).join('\n')}
`
}

const everywhere = 'complete -c modelgate -n __modelgate_takes_common'

function linesOf(node: CommandNode, isRoot: boolean): string[] {
  const here = `complete -c modelgate -n '__modelgate_is ${node.path}'`
  const { argument } = node
  return [
    ...node.children.map((child) => `${here} -a ${ownName(child)} -d ${quote(child.about)}`),
    ...node.flags.map((flag) => `${isRoot ? everywhere : here}${flagWords(flag)}`),
    ...(argument === undefined || isRoot ? [] : [`${here}${valueWords(argument)}`]),
  ]
}

function flagWords({ names, about, value }: Flag): string {
  const spelled = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const takes = value === undefined ? '' : ` -r${value.files === 'plain' ? '' : ' -f'}${valueWords(value)}`
  return ` ${spelled.join(' ')}${takes} -d ${quote(about)}`
}

function valueWords({ words, files, live }: Value): string {
  const listed = [
    ...words,
    ...(files === 'at' ? ['(__modelgate_at_files)'] : []),
    ...(live === undefined ? [] : [`(__modelgate_live ${live})`]),
  ]
  return `${files === 'plain' ? ' -F' : ''}${listed.length === 0 ? '' : ` -a '${listed.join(' ')}'`}`
}

function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`
}
