import type { Command } from 'commander'
import type { Example, LoadCommand } from './commands/shared/options/common-options.ts'
import type { Context } from './context.ts'

/** What each command is for, by the words that call it, in the order of `--help`. */
export const aboutCommand = {
  respond: 'Stream text: start with this one',
  generate: 'Stream text from content-generation gateways, with inline images',
  chat: 'Chat with a model in the terminal',
  image: 'Create and edit images',
  'image create': 'Create images from a prompt',
  'image edit': 'Edit images with a prompt, into new files',
  video: 'Generate videos: start jobs, wait for them, save the results',
  'video generate': 'Generate videos from a prompt and images',
  'video remix': 'Remix a finished video, with one change',
  'video status': 'Look up a job: a video or an operation',
  wait: 'Wait for and fetch results: videos, responses, images',
  jobs: 'List the jobs started on this machine, and results not fetched yet',
  cancel: 'Stop a background response',
  run: 'Generate the assets that a manifest describes, and lock them',
  'run init': 'Write a manifest to start from',
  'run adopt': 'Lock existing files as outputs',
  'run pick': 'Choose one of several candidates as the output',
  'run restore': 'List earlier files of a job, or bring one back',
  'run report': 'Write a page for review: every asset beside its prompt',
  'run merge': 'Merge shards, or resolve conflicts in the lock',
  'run push': 'Put the locked outputs into a store',
  'run pull': 'Restore the locked outputs from a store',
  'run worker': 'Process the requests that runs have put into a queue',
  'run clean': 'List or remove files that the lock does not name',
  sandbox: 'Run a local gateway that obeys the same contract',
  inspect: 'Show what a file is, its content credentials, and the call that made it',
  usage: 'Add up what was created, and its estimated cost',
  init: 'Set up the gateway, the key and the models',
  log: 'Show the log of calls: prompts, answers, files, usage',
  'log show': 'Show one call in full: request, answer, files',
  'log clear': 'Forget calls',
  models: 'List the models of the gateway, and their limits',
  auth: 'Store, show and remove the API key',
  'auth login': 'Store the key of a profile, readable only by you',
  'auth status': 'Show which key is used, and where it comes from',
  'auth logout': 'Remove a stored key',
  config: 'Show and change the settings',
  'config list': 'Show the settings in use, and where each comes from',
  'config get': 'Print the value of one setting',
  'config set': 'Change a setting in your own file',
  'config unset': 'Remove a setting from your own file',
  'config path': 'Show where configuration and state files are',
  'config schema': 'Print the JSON Schema of configuration files',
  doctor: 'Diagnose the setup, and say how to fix it',
  schema: 'Print the JSON Schema of the --json and --jsonl output, or of the manifest of run',
  completion: 'Print a completion script for bash, zsh, fish or PowerShell',
  help: 'Show help for a command or a topic; with --json, as data',
}

/** Commands that only hold others. */
type Group = 'image' | 'video' | 'auth' | 'config'

export const groupExamples: Readonly<Record<string, readonly Example[]>> = {
  image: [
    ['modelgate image create --sandbox -o boat.png "A paper boat"'],
    ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "Hills at dusk"'],
    ['modelgate image edit --image room.png --mask wall.png "Paint the wall blue"'],
  ],
  video: [
    ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
    ['modelgate video remix -m MODEL --last "Make it night"'],
    ['modelgate wait --last'],
    ['modelgate jobs --refresh'],
  ],
  auth: [
    ['modelgate auth login'],
    ['modelgate auth status --check'],
    ['modelgate auth logout --profile work'],
  ],
  config: [['modelgate config list'], ['modelgate config set base_url https://gateway.example']],
} satisfies Record<Group, readonly Example[]>

/** Loads what adds options and action to a command. @param loadOther for a command that describes others */
type LoadModule = (loadOther: LoadCommand) => Promise<(command: Command, context: Context) => void>

/** Each is loaded when its command is called. */
export const commandModules: Readonly<Record<string, LoadModule>> = {
  respond: async () => (await import('./commands/respond.ts')).registerRespond,
  generate: async () => (await import('./commands/generate.ts')).registerGenerate,
  chat: async () => (await import('./commands/chat.ts')).registerChat,
  'image create': async () => (await import('./commands/image.ts')).registerImageCreate,
  'image edit': async () => (await import('./commands/image.ts')).registerImageEdit,
  'video generate': async () => (await import('./commands/video.ts')).registerVideoGenerate,
  'video remix': async () => (await import('./commands/video.ts')).registerVideoRemix,
  'video status': async () => (await import('./commands/wait.ts')).registerVideoStatus,
  wait: async () => (await import('./commands/wait.ts')).registerWait,
  jobs: async () => (await import('./commands/jobs.ts')).registerJobs,
  cancel: async () => (await import('./commands/wait.ts')).registerCancel,
  run: async () => (await import('./commands/run.ts')).registerRun,
  'run init': async () => (await import('./commands/run-init.ts')).registerRunInit,
  'run adopt': async () => (await import('./commands/run-change.ts')).registerRunAdopt,
  'run pick': async () => (await import('./commands/run-change.ts')).registerRunPick,
  'run restore': async () => (await import('./commands/run-change.ts')).registerRunRestore,
  'run report': async () => (await import('./commands/run-report.ts')).registerRunReport,
  'run merge': async () => (await import('./commands/run-merge.ts')).registerRunMerge,
  'run push': async () => (await import('./commands/run-transfer.ts')).registerRunPush,
  'run pull': async () => (await import('./commands/run-transfer.ts')).registerRunPull,
  'run worker': async () => (await import('./commands/run-worker.ts')).registerRunWorker,
  'run clean': async () => (await import('./commands/run-change.ts')).registerRunClean,
  sandbox: async () => (await import('./commands/sandbox.ts')).registerSandbox,
  inspect: async () => (await import('./commands/inspect.ts')).registerInspect,
  usage: async () => (await import('./commands/usage.ts')).registerUsage,
  init: async () => (await import('./commands/init.ts')).registerInit,
  log: async () => (await import('./commands/log.ts')).registerLog,
  'log show': async () => (await import('./commands/log.ts')).registerLogShow,
  'log clear': async () => (await import('./commands/log.ts')).registerLogClear,
  models: async () => (await import('./commands/models.ts')).registerModels,
  'auth login': async () => (await import('./commands/auth.ts')).registerAuthLogin,
  'auth status': async () => (await import('./commands/auth.ts')).registerAuthStatus,
  'auth logout': async () => (await import('./commands/auth.ts')).registerAuthLogout,
  'config list': async () => (await import('./commands/config.ts')).registerConfigList,
  'config get': async () => (await import('./commands/config.ts')).registerConfigGet,
  'config set': async () => (await import('./commands/config.ts')).registerConfigSet,
  'config unset': async () => (await import('./commands/config.ts')).registerConfigUnset,
  'config path': async () => (await import('./commands/config.ts')).registerConfigPath,
  'config schema': async () => (await import('./commands/config.ts')).registerConfigSchema,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  schema: async () => (await import('./commands/schema.ts')).registerSchema,
  completion: async () => (await import('./commands/completion.ts')).registerCompletion,
  help: async (loadOther) => {
    const { registerHelp } = await import('./commands/help.ts')
    return (command, context) => registerHelp(command, context, loadOther)
  },
} satisfies Record<Exclude<keyof typeof aboutCommand, Group>, LoadModule>
