import type { Command } from 'commander'
import type { LoadCommand, Example } from './commands/shared/options/common-options.ts'
import type { Context } from './context.ts'

/** A command before its module is loaded. */
export interface CommandEntry {
  readonly name: string
  readonly about: string
  /**
   * Loads the module that adds arguments, options and action; undefined for a group of commands.
   * @param loadOther for a command that describes others
   */
  load?(loadOther: LoadCommand): Promise<(command: Command, context: Context) => void>
  readonly examples?: readonly Example[]
  readonly commands?: readonly CommandEntry[]
}

/** All commands, in the order of `--help`. The module of each is loaded when the command is called. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: 'respond',
    about: 'Stream text: start with this one',
    load: async () => (await import('./commands/respond.ts')).registerRespond,
  },
  {
    name: 'generate',
    about: 'Stream text from content-generation gateways, with inline images',
    load: async () => (await import('./commands/generate.ts')).registerGenerate,
  },
  {
    name: 'chat',
    about: 'Chat with a model in the terminal',
    load: async () => (await import('./commands/chat.ts')).registerChat,
  },
  {
    name: 'image',
    about: 'Create and edit images',
    examples: [
      ['modelgate image create --sandbox -o boat.png "A paper boat"'],
      ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "Hills at dusk"'],
      ['modelgate image edit --image room.png --mask wall.png "Paint the wall blue"'],
    ],
    commands: [
      {
        name: 'create',
        about: 'Create images from a prompt',
        load: async () => (await import('./commands/image.ts')).registerImageCreate,
      },
      {
        name: 'edit',
        about: 'Edit images with a prompt, into new files',
        load: async () => (await import('./commands/image.ts')).registerImageEdit,
      },
    ],
  },
  {
    name: 'video',
    about: 'Generate videos: start jobs, wait for them, save the results',
    examples: [
      ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
      ['modelgate video remix -m MODEL --last "Make it night"'],
      ['modelgate wait --last'],
      ['modelgate jobs --refresh'],
    ],
    commands: [
      {
        name: 'generate',
        about: 'Generate videos from a prompt and images',
        load: async () => (await import('./commands/video.ts')).registerVideoGenerate,
      },
      {
        name: 'remix',
        about: 'Remix a finished video, with one change',
        load: async () => (await import('./commands/video.ts')).registerVideoRemix,
      },
      {
        name: 'status',
        about: 'Look up a job: a video or an operation',
        load: async () => (await import('./commands/wait.ts')).registerVideoStatus,
      },
    ],
  },
  {
    name: 'wait',
    about: 'Wait for and fetch results: videos, responses, images',
    load: async () => (await import('./commands/wait.ts')).registerWait,
  },
  {
    name: 'jobs',
    about: 'List the jobs started on this machine, and results not fetched yet',
    load: async () => (await import('./commands/jobs.ts')).registerJobs,
  },
  {
    name: 'cancel',
    about: 'Stop a background response',
    load: async () => (await import('./commands/wait.ts')).registerCancel,
  },
  {
    name: 'run',
    about: 'Generate the assets that a manifest describes, and lock them',
    load: async () => (await import('./commands/run.ts')).registerRun,
    commands: [
      {
        name: 'init',
        about: 'Write a manifest to start from',
        load: async () => (await import('./commands/run-init.ts')).registerRunInit,
      },
      {
        name: 'adopt',
        about: 'Lock existing files as outputs',
        load: async () => (await import('./commands/run-change.ts')).registerRunAdopt,
      },
      {
        name: 'pick',
        about: 'Choose one of several candidates as the output',
        load: async () => (await import('./commands/run-change.ts')).registerRunPick,
      },
      {
        name: 'restore',
        about: 'List earlier files of a job, or bring one back',
        load: async () => (await import('./commands/run-change.ts')).registerRunRestore,
      },
      {
        name: 'report',
        about: 'Write a page for review: every asset beside its prompt',
        load: async () => (await import('./commands/run-report.ts')).registerRunReport,
      },
      {
        name: 'merge',
        about: 'Merge shards, or resolve conflicts in the lock',
        load: async () => (await import('./commands/run-merge.ts')).registerRunMerge,
      },
      {
        name: 'push',
        about: 'Put the locked outputs into a store',
        load: async () => (await import('./commands/run-transfer.ts')).registerRunPush,
      },
      {
        name: 'pull',
        about: 'Restore the locked outputs from a store',
        load: async () => (await import('./commands/run-transfer.ts')).registerRunPull,
      },
      {
        name: 'worker',
        about: 'Process the requests that runs have put into a queue',
        load: async () => (await import('./commands/run-worker.ts')).registerRunWorker,
      },
      {
        name: 'clean',
        about: 'List or remove files that the lock does not name',
        load: async () => (await import('./commands/run-change.ts')).registerRunClean,
      },
    ],
  },
  {
    name: 'sandbox',
    about: 'Run a local gateway that obeys the same contract',
    load: async () => (await import('./commands/sandbox.ts')).registerSandbox,
  },
  {
    name: 'inspect',
    about: 'Show what a file is, its content credentials, and the call that made it',
    load: async () => (await import('./commands/inspect.ts')).registerInspect,
  },
  {
    name: 'usage',
    about: 'Add up what was created, and its estimated cost',
    load: async () => (await import('./commands/usage.ts')).registerUsage,
  },
  {
    name: 'init',
    about: 'Set up the gateway, the key and the models',
    load: async () => (await import('./commands/init.ts')).registerInit,
  },
  {
    name: 'log',
    about: 'Show the log of calls: prompts, answers, files, usage',
    load: async () => (await import('./commands/log.ts')).registerLog,
    commands: [
      {
        name: 'show',
        about: 'Show one call in full: request, answer, files',
        load: async () => (await import('./commands/log.ts')).registerLogShow,
      },
      {
        name: 'clear',
        about: 'Forget calls',
        load: async () => (await import('./commands/log.ts')).registerLogClear,
      },
    ],
  },
  {
    name: 'models',
    about: 'List the models of the gateway, and their limits',
    load: async () => (await import('./commands/models.ts')).registerModels,
  },
  {
    name: 'auth',
    about: 'Store, show and remove the API key',
    examples: [
      ['modelgate auth login'],
      ['modelgate auth status --check'],
      ['modelgate auth logout --profile work'],
    ],
    commands: [
      {
        name: 'login',
        about: 'Store the key of a profile, readable only by you',
        load: async () => (await import('./commands/auth.ts')).registerAuthLogin,
      },
      {
        name: 'status',
        about: 'Show which key is used, and where it comes from',
        load: async () => (await import('./commands/auth.ts')).registerAuthStatus,
      },
      {
        name: 'logout',
        about: 'Remove a stored key',
        load: async () => (await import('./commands/auth.ts')).registerAuthLogout,
      },
    ],
  },
  {
    name: 'config',
    about: 'Show and change the settings',
    examples: [['modelgate config list'], ['modelgate config set base_url https://gateway.example']],
    commands: [
      {
        name: 'list',
        about: 'Show the settings in use, and where each comes from',
        load: async () => (await import('./commands/config.ts')).registerConfigList,
      },
      {
        name: 'get',
        about: 'Print the value of one setting',
        load: async () => (await import('./commands/config.ts')).registerConfigGet,
      },
      {
        name: 'set',
        about: 'Change a setting in your own file',
        load: async () => (await import('./commands/config.ts')).registerConfigSet,
      },
      {
        name: 'unset',
        about: 'Remove a setting from your own file',
        load: async () => (await import('./commands/config.ts')).registerConfigUnset,
      },
      {
        name: 'path',
        about: 'Show where configuration and state files are',
        load: async () => (await import('./commands/config.ts')).registerConfigPath,
      },
      {
        name: 'schema',
        about: 'Print the JSON Schema of configuration files',
        load: async () => (await import('./commands/config.ts')).registerConfigSchema,
      },
    ],
  },
  {
    name: 'doctor',
    about: 'Diagnose the setup, and say how to fix it',
    load: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
  {
    name: 'schema',
    about: 'Print the JSON Schema of the --json and --jsonl output, or of the manifest of run',
    load: async () => (await import('./commands/schema.ts')).registerSchema,
  },
  {
    name: 'completion',
    about: 'Print a completion script for bash, zsh, fish or PowerShell',
    load: async () => (await import('./commands/completion.ts')).registerCompletion,
  },
  {
    name: 'help',
    about: 'Show help for a command or a topic; with --json, as data',
    load: async (loadOther) => {
      const { registerHelp } = await import('./commands/help.ts')
      return (command, context) => registerHelp(command, context, loadOther)
    },
  },
]
