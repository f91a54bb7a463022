import type { Command } from 'commander'
import type { CommandTools } from './commands/shared/options/command-tools.ts'
import type { Example } from './commands/shared/help/help-layout.ts'
import type { Context } from './context.ts'

/** A command before its module is loaded. */
export interface CommandEntry {
  readonly name: string
  readonly about: string
  /** Whether the common options, which concern requests and results, belong in its help. */
  readonly sends?: true
  /** Loads the module that adds arguments, options and action; undefined for a group of commands. */
  load?(tools: CommandTools): Promise<Register>
  readonly examples?: readonly Example[]
  readonly commands?: readonly CommandEntry[]
}

type Register = (command: Command, context: Context) => void

/** All commands, in the order of `--help`. The module of each is loaded when the command is called. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: 'respond',
    about: 'Stream text: take this one first',
    sends: true,
    load: async () => (await import('./commands/respond.ts')).registerRespond,
  },
  {
    name: 'generate',
    about: 'Stream text: for content-generation gateways, and inline pictures',
    sends: true,
    load: async () => (await import('./commands/generate.ts')).registerGenerate,
  },
  {
    name: 'chat',
    about: 'Talk with a model on a terminal',
    sends: true,
    load: async () => (await import('./commands/chat.ts')).registerChat,
  },
  {
    name: 'response',
    about: 'Go on with responses that run in the background',
    sends: true,
    examples: [
      ['modelgate respond --background -m MODEL "Plan a year"'],
      ['modelgate response wait --last'],
      ['modelgate response cancel resp_123'],
    ],
    commands: [
      {
        name: 'status',
        about: 'Look up a background response',
        load: async () => (await import('./commands/response-status.ts')).registerResponseStatus,
      },
      {
        name: 'wait',
        about: 'Wait for a background response and print its answer',
        load: async () => (await import('./commands/response-wait.ts')).registerResponseWait,
      },
      {
        name: 'cancel',
        about: 'Stop a background response',
        load: async () => (await import('./commands/response-cancel.ts')).registerResponseCancel,
      },
      {
        name: 'list',
        about: 'The background responses that this machine has started',
        load: async () => (await import('./commands/response-list.ts')).registerResponseList,
      },
    ],
  },
  {
    name: 'image',
    about: 'Create and edit images, into files',
    sends: true,
    examples: [
      ['modelgate image create --sandbox -o boat.png "A paper boat"'],
      ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "Hills at dusk"'],
      ['modelgate image edit --image room.png --mask wall.png "Paint the wall blue"'],
    ],
    commands: [
      {
        name: 'create',
        about: 'Draw images from a prompt, into files',
        load: async () => (await import('./commands/image-create.ts')).registerImageCreate,
      },
      {
        name: 'edit',
        about: 'Change images by a prompt, into new files',
        load: async () => (await import('./commands/image-edit.ts')).registerImageEdit,
      },
    ],
  },
  {
    name: 'video',
    about: 'Make videos: start jobs, wait for them, save them',
    sends: true,
    examples: [
      ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
      ['modelgate video remix -m MODEL --last "Make it night"'],
      ['modelgate video wait --last'],
      ['modelgate video list --refresh'],
    ],
    commands: [
      {
        name: 'generate',
        about: 'Make videos from a prompt and pictures',
        load: async () => (await import('./commands/video-generate.ts')).registerVideoGenerate,
      },
      {
        name: 'remix',
        about: 'Make a video from a finished one, with one change',
        load: async () => (await import('./commands/video-remix.ts')).registerVideoRemix,
      },
      {
        name: 'status',
        about: 'Look up a job: a video or an operation',
        load: async () => (await import('./commands/video-status.ts')).registerVideoStatus,
      },
      {
        name: 'wait',
        about: 'Wait for a job and save its videos',
        load: async () => (await import('./commands/video-wait.ts')).registerVideoWait,
      },
      {
        name: 'list',
        about: 'The jobs that this machine has started',
        load: async () => (await import('./commands/video-list.ts')).registerVideoList,
      },
    ],
  },
  {
    name: 'wait',
    about: 'Take what is not here yet: videos, responses, images',
    sends: true,
    load: async () => (await import('./commands/wait.ts')).registerWait,
  },
  {
    name: 'jobs',
    about: 'What this machine has started, and what is not fetched',
    sends: true,
    load: async () => (await import('./commands/jobs.ts')).registerJobs,
  },
  {
    name: 'run',
    about: 'Make the assets that a manifest describes, and keep them as approved',
    sends: true,
    load: async () => (await import('./commands/run.ts')).registerRun,
    commands: [
      {
        name: 'adopt',
        about: 'Lock files that are there already',
        load: async () => (await import('./commands/run-adopt.ts')).registerRunAdopt,
      },
      {
        name: 'pick',
        about: 'Make one of several candidates the output',
        load: async () => (await import('./commands/run-pick.ts')).registerRunPick,
      },
      {
        name: 'report',
        about: 'Show every asset beside its prompt, for a review',
        load: async () => (await import('./commands/run-report.ts')).registerRunReport,
      },
      {
        name: 'merge',
        about: 'Put the parts of a run together, or the two sides of a lock',
        load: async () => (await import('./commands/run-merge.ts')).registerRunMerge,
      },
      {
        name: 'worker',
        about: 'Make the requests that runs have put into a queue',
        sends: true,
        load: async () => (await import('./commands/run-worker.ts')).registerRunWorker,
      },
      {
        name: 'clean',
        about: 'List or remove what the lock does not name',
        load: async () => (await import('./commands/run-clean.ts')).registerRunClean,
      },
    ],
  },
  {
    name: 'sandbox',
    about: 'Run the local gateway that obeys the same contract',
    sends: true,
    load: async () => (await import('./commands/sandbox.ts')).registerSandbox,
  },
  {
    name: 'inspect',
    about: 'Show what a file is, its content credentials, and the call that made it',
    sends: true,
    load: async () => (await import('./commands/inspect.ts')).registerInspect,
  },
  {
    name: 'usage',
    about: 'Add up what was created, and what it cost by your prices',
    sends: true,
    load: async () => (await import('./commands/usage.ts')).registerUsage,
  },
  {
    name: 'init',
    about: 'Set up gateway, key and models',
    sends: true,
    load: async ({ run }) => {
      const { registerInit } = await import('./commands/init.ts')
      return (command, context) => registerInit(command, context, run)
    },
  },
  {
    name: 'log',
    about: 'Show what was called: prompts, answers, files, usage',
    sends: true,
    load: async () => (await import('./commands/log.ts')).registerLog,
    commands: [
      {
        name: 'show',
        about: 'All of one call: request, answer, files',
        load: async () => (await import('./commands/log-show.ts')).registerLogShow,
      },
      {
        name: 'clear',
        about: 'Forget calls',
        load: async () => (await import('./commands/log-clear.ts')).registerLogClear,
      },
    ],
  },
  {
    name: 'models',
    about: 'Show the models of the gateway, and their limits',
    sends: true,
    load: async () => (await import('./commands/models.ts')).registerModels,
  },
  {
    name: 'auth',
    about: 'Store, show and remove the key',
    sends: true,
    examples: [
      ['modelgate auth login'],
      ['modelgate auth status --check'],
      ['modelgate auth logout --profile work'],
    ],
    commands: [
      {
        name: 'login',
        about: 'Store the key of a profile, readable for you alone',
        load: async () => (await import('./commands/auth-login.ts')).registerAuthLogin,
      },
      {
        name: 'status',
        about: 'Show which key is used, and where it comes from',
        load: async () => (await import('./commands/auth-status.ts')).registerAuthStatus,
      },
      {
        name: 'logout',
        about: 'Remove a stored key',
        load: async () => (await import('./commands/auth-logout.ts')).registerAuthLogout,
      },
    ],
  },
  {
    name: 'config',
    about: 'Show and change the settings',
    sends: true,
    examples: [['modelgate config list'], ['modelgate config set base_url https://gateway.example']],
    commands: [
      {
        name: 'list',
        about: 'Show the settings in use, and where each comes from',
        load: async () => (await import('./commands/config-list.ts')).registerConfigList,
      },
      {
        name: 'get',
        about: 'Print the value of one setting',
        load: async () => (await import('./commands/config-get.ts')).registerConfigGet,
      },
      {
        name: 'set',
        about: 'Change a setting in your own file',
        load: async () => (await import('./commands/config-set.ts')).registerConfigSet,
      },
      {
        name: 'unset',
        about: 'Remove a setting from your own file',
        load: async () => (await import('./commands/config-set.ts')).registerConfigUnset,
      },
      {
        name: 'path',
        about: 'Show where files are looked for and kept',
        load: async () => (await import('./commands/config-path.ts')).registerConfigPath,
      },
      {
        name: 'schema',
        about: 'Print the JSON Schema of configuration files',
        load: async () => (await import('./commands/config-schema.ts')).registerConfigSchema,
      },
    ],
  },
  {
    name: 'doctor',
    about: 'Find out what is wrong with the set-up, and what to do about it',
    sends: true,
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
    load: async ({ load }) => {
      const { registerCompletion } = await import('./commands/completion.ts')
      return (command, context) => registerCompletion(command, context, load)
    },
  },
  {
    name: 'help',
    about: 'Show help for a command or a topic; all of it as data with --json',
    sends: true,
    load: async ({ load }) => {
      const { registerHelp } = await import('./commands/help.ts')
      return (command, context) => registerHelp(command, context, load)
    },
  },
]
