import type { Command } from 'commander'
import type { LoadCommand, Example } from './commands/shared/options/common-options.ts'
import type { Context } from './context.ts'

/** A command before its module is loaded. */
interface CommandEntry {
  readonly about: string
  /** @param loadOther for a command that describes others */
  load?(loadOther: LoadCommand): Promise<(command: Command, context: Context) => void>
  readonly examples?: readonly Example[]
  readonly commands?: CommandEntries
}

/** By name, in the order of `--help`. */
export type CommandEntries = Readonly<Record<string, CommandEntry>>

/** The module of each is loaded when the command is called. */
export const commandEntries: CommandEntries = {
  respond: {
    about: 'Stream text: start with this one',
    load: async () => (await import('./commands/respond.ts')).registerRespond,
  },
  generate: {
    about: 'Stream text from content-generation gateways, with inline images',
    load: async () => (await import('./commands/generate.ts')).registerGenerate,
  },
  chat: {
    about: 'Chat with a model in the terminal',
    load: async () => (await import('./commands/chat.ts')).registerChat,
  },
  image: {
    about: 'Create and edit images',
    examples: [
      ['modelgate image create --sandbox -o boat.png "A paper boat"'],
      ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "Hills at dusk"'],
      ['modelgate image edit --image room.png --mask wall.png "Paint the wall blue"'],
    ],
    commands: {
      create: {
        about: 'Create images from a prompt',
        load: async () => (await import('./commands/image.ts')).registerImageCreate,
      },
      edit: {
        about: 'Edit images with a prompt, into new files',
        load: async () => (await import('./commands/image.ts')).registerImageEdit,
      },
    },
  },
  video: {
    about: 'Generate videos: start jobs, wait for them, save the results',
    examples: [
      ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
      ['modelgate video remix -m MODEL --last "Make it night"'],
      ['modelgate wait --last'],
      ['modelgate jobs --refresh'],
    ],
    commands: {
      generate: {
        about: 'Generate videos from a prompt and images',
        load: async () => (await import('./commands/video.ts')).registerVideoGenerate,
      },
      remix: {
        about: 'Remix a finished video, with one change',
        load: async () => (await import('./commands/video.ts')).registerVideoRemix,
      },
      status: {
        about: 'Look up a job: a video or an operation',
        load: async () => (await import('./commands/wait.ts')).registerVideoStatus,
      },
    },
  },
  wait: {
    about: 'Wait for and fetch results: videos, responses, images',
    load: async () => (await import('./commands/wait.ts')).registerWait,
  },
  jobs: {
    about: 'List the jobs started on this machine, and results not fetched yet',
    load: async () => (await import('./commands/jobs.ts')).registerJobs,
  },
  cancel: {
    about: 'Stop a background response',
    load: async () => (await import('./commands/wait.ts')).registerCancel,
  },
  run: {
    about: 'Generate the assets that a manifest describes, and lock them',
    load: async () => (await import('./commands/run.ts')).registerRun,
    commands: {
      init: {
        about: 'Write a manifest to start from',
        load: async () => (await import('./commands/run-init.ts')).registerRunInit,
      },
      adopt: {
        about: 'Lock existing files as outputs',
        load: async () => (await import('./commands/run-change.ts')).registerRunAdopt,
      },
      pick: {
        about: 'Choose one of several candidates as the output',
        load: async () => (await import('./commands/run-change.ts')).registerRunPick,
      },
      restore: {
        about: 'List earlier files of a job, or bring one back',
        load: async () => (await import('./commands/run-change.ts')).registerRunRestore,
      },
      report: {
        about: 'Write a page for review: every asset beside its prompt',
        load: async () => (await import('./commands/run-report.ts')).registerRunReport,
      },
      merge: {
        about: 'Merge shards, or resolve conflicts in the lock',
        load: async () => (await import('./commands/run-merge.ts')).registerRunMerge,
      },
      push: {
        about: 'Put the locked outputs into a store',
        load: async () => (await import('./commands/run-transfer.ts')).registerRunPush,
      },
      pull: {
        about: 'Restore the locked outputs from a store',
        load: async () => (await import('./commands/run-transfer.ts')).registerRunPull,
      },
      worker: {
        about: 'Process the requests that runs have put into a queue',
        load: async () => (await import('./commands/run-worker.ts')).registerRunWorker,
      },
      clean: {
        about: 'List or remove files that the lock does not name',
        load: async () => (await import('./commands/run-change.ts')).registerRunClean,
      },
    },
  },
  sandbox: {
    about: 'Run a local gateway that obeys the same contract',
    load: async () => (await import('./commands/sandbox.ts')).registerSandbox,
  },
  inspect: {
    about: 'Show what a file is, its content credentials, and the call that made it',
    load: async () => (await import('./commands/inspect.ts')).registerInspect,
  },
  usage: {
    about: 'Add up what was created, and its estimated cost',
    load: async () => (await import('./commands/usage.ts')).registerUsage,
  },
  init: {
    about: 'Set up the gateway, the key and the models',
    load: async () => (await import('./commands/init.ts')).registerInit,
  },
  log: {
    about: 'Show the log of calls: prompts, answers, files, usage',
    load: async () => (await import('./commands/log.ts')).registerLog,
    commands: {
      show: {
        about: 'Show one call in full: request, answer, files',
        load: async () => (await import('./commands/log.ts')).registerLogShow,
      },
      clear: {
        about: 'Forget calls',
        load: async () => (await import('./commands/log.ts')).registerLogClear,
      },
    },
  },
  models: {
    about: 'List the models of the gateway, and their limits',
    load: async () => (await import('./commands/models.ts')).registerModels,
  },
  auth: {
    about: 'Store, show and remove the API key',
    examples: [
      ['modelgate auth login'],
      ['modelgate auth status --check'],
      ['modelgate auth logout --profile work'],
    ],
    commands: {
      login: {
        about: 'Store the key of a profile, readable only by you',
        load: async () => (await import('./commands/auth.ts')).registerAuthLogin,
      },
      status: {
        about: 'Show which key is used, and where it comes from',
        load: async () => (await import('./commands/auth.ts')).registerAuthStatus,
      },
      logout: {
        about: 'Remove a stored key',
        load: async () => (await import('./commands/auth.ts')).registerAuthLogout,
      },
    },
  },
  config: {
    about: 'Show and change the settings',
    examples: [['modelgate config list'], ['modelgate config set base_url https://gateway.example']],
    commands: {
      list: {
        about: 'Show the settings in use, and where each comes from',
        load: async () => (await import('./commands/config.ts')).registerConfigList,
      },
      get: {
        about: 'Print the value of one setting',
        load: async () => (await import('./commands/config.ts')).registerConfigGet,
      },
      set: {
        about: 'Change a setting in your own file',
        load: async () => (await import('./commands/config.ts')).registerConfigSet,
      },
      unset: {
        about: 'Remove a setting from your own file',
        load: async () => (await import('./commands/config.ts')).registerConfigUnset,
      },
      path: {
        about: 'Show where configuration and state files are',
        load: async () => (await import('./commands/config.ts')).registerConfigPath,
      },
      schema: {
        about: 'Print the JSON Schema of configuration files',
        load: async () => (await import('./commands/config.ts')).registerConfigSchema,
      },
    },
  },
  doctor: {
    about: 'Diagnose the setup, and say how to fix it',
    load: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
  schema: {
    about: 'Print the JSON Schema of the --json and --jsonl output, or of the manifest of run',
    load: async () => (await import('./commands/schema.ts')).registerSchema,
  },
  completion: {
    about: 'Print a completion script for bash, zsh, fish or PowerShell',
    load: async () => (await import('./commands/completion.ts')).registerCompletion,
  },
  help: {
    about: 'Show help for a command or a topic; with --json, as data',
    load: async (loadOther) => {
      const { registerHelp } = await import('./commands/help.ts')
      return (command, context) => registerHelp(command, context, loadOther)
    },
  },
}
