/**
 * The description of a coding agent: its events, the input and output of its hooks, its settings,
 * and what it does when a hook fails. The hook and all commands are generic over it.
 *
 * Promises: imports types only, because the hook loads it before every tool call.
 */

import type { ToolIdentity } from "@countersign/protocol";

export interface Agent {
  /** In arguments, `context.runtime`, keys and file names. */
  readonly name: string;
  readonly title: string;
  /** The executable. Undefined for an application that a command cannot start. */
  readonly program: string | undefined;
  readonly input: HookInputFormat;
  /** The events of tool calls. install adds the hook to each of them. */
  readonly events: readonly [HookEvent, ...HookEvent[]];
  /**
   * The event before the agent asks its own user for permission. Undefined where the agent has no
   * such event, or runs the tool after a hook of it that decides nothing.
   */
  readonly promptEvent: HookEvent | undefined;
  readonly settings: HookSettingsFormat;
  readonly failures: HookFailures;
  /** True if the agent can send the input of a hook to a server, with HTTP. */
  readonly hasHttpHooks: boolean;
  readonly windows: WindowsHooks;
  /** The shell that runs the command of a hook, which is its last argument. Not on Windows. */
  shell(environment: NodeJS.ProcessEnv): readonly [file: string, ...options: string[]];
}

/** Names are paths of members: `tool_info.command_line` is a member of the object `tool_info`. */
export interface HookInputFormat {
  /** The event. Undefined: the input does not contain it, and the agent has one event. */
  readonly event: string | undefined;
  readonly session: string | undefined;
  /** The id of the call. Undefined: the agent sends none, and each run is a new request. */
  readonly call: string | undefined;
  /** The members of `context` of the request, with the paths of their values. */
  readonly context: Readonly<Record<string, string>>;
  /**
   * Members that only another agent sends, with its title. Such an agent reads the settings of this
   * one, and expects other answers.
   */
  readonly foreign: Readonly<Record<string, string>>;
}

export interface HookEvent {
  /** In the settings and in the input. */
  readonly name: string;
  readonly call: CallFormat;
  readonly output: HookOutput;
}

/** Where the input contains the call. Names are paths of members, as in HookInputFormat. */
export interface CallFormat {
  /** The name of the tool, or a path to it if the event is for more than one tool. */
  readonly tool: { readonly name: string } | { readonly path: string };
  /** Paths of both names of an MCP tool. A call without them is split. */
  readonly mcp: { readonly server: string; readonly tool: string } | undefined;
  readonly arguments: string;
  /** True if the arguments are a text that contains JSON. */
  readonly isText: boolean;
  /** Separates the server from a tool name that contains both. */
  split(name: string): ToolIdentity;
}

/** The answers of the hook. */
export interface HookOutput {
  /** The stdout after an approval. */
  readonly approved: string;
  /** The stdout that leaves the decision to the agent's own permissions. */
  readonly left: string;
  /**
   * The stdout that blocks a call, with exit code 0. Undefined: the reason goes to stderr, and the
   * exit code is 2.
   */
  readonly denied: ((reason: string) => string) | undefined;
}

export type HookSettingsFormat = JsonSettings | TomlSettings | YamlSettings | OwnFile;

interface AnySettings {
  /** Path of the user-level file. */
  file(environment: NodeJS.ProcessEnv): string;
  /** The longest time that the agent waits for a hook. Undefined: no limit is known. */
  readonly limitMaxMs: number | undefined;
}

interface HandlerSettings extends AnySettings {
  /**
   * The members of the entry that runs the hook.
   *
   * @param limitMs after which the agent stops the hook
   */
  handler(command: string, limitMs: number): Readonly<Record<string, unknown>>;
}

/** A settings file of JSON with a list of handlers for each event: `{"hooks": {EVENT: [...]}}`. */
export interface JsonSettings extends HandlerSettings {
  readonly kind: "json";
  /** True if an item of the list is a group `{"hooks": [HANDLER]}`, false if it is a handler. */
  readonly isGrouped: boolean;
  /** Members of a new file before `hooks`. */
  readonly head: Readonly<Record<string, unknown>>;
}

/** A settings file of TOML with a table `[[hooks]]` for each handler, which names its `event`. */
export interface TomlSettings extends HandlerSettings {
  readonly kind: "toml";
}

/** A settings file of YAML with a list of handlers for each event, below `hooks`. */
export interface YamlSettings extends HandlerSettings {
  readonly kind: "yaml";
}

/** A file that only the hook uses, such as a plugin: install creates it, uninstall deletes it. */
export interface OwnFile extends AnySettings {
  readonly kind: "own-file";
  text(command: string): string;
  /** The command in such a text. */
  command(text: string): string | undefined;
}

/** How install adds the hook on Windows. */
export type WindowsHooks = WindowsLauncher | { readonly kind: "refused"; readonly reason: string };

/** The command starts a batch file. It has the same meaning in `cmd.exe` and PowerShell. */
export interface WindowsLauncher {
  readonly kind: "launcher";
  /**
   * The denial for stdout where `HookOutput.denied` is undefined. A command line of PowerShell ends
   * with 1 after every exit code other than 0, so exit code 2 does not reach the agent.
   */
  readonly denied: ((reason: string) => string) | undefined;
  /** Further members of the entry in the settings. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The shell of the agent. */
  readonly shell: string;
  /** Address of the documentation, source or report. */
  readonly source: string;
}

export type Consequence = "blocks" | "runs" | "asks" | "unknown";

/** The behaviour of the agent for a call, with the settings that install writes. */
export interface HookFailures {
  /** The hook exits with a code that is neither 0 nor 2. */
  readonly otherExit: Consequence;
  /** A signal ends the hook. */
  readonly killed: Consequence;
  /** The command of the hook does not exist. */
  readonly notStarted: Consequence;
  readonly timeout: Consequence;
  /** Exit code 0 without output. */
  readonly silent: Consequence;
  /** Exit code 0 with output that is not a valid answer. */
  readonly invalidOutput: Consequence;
  /** The first version with this behaviour. Undefined: all supported versions. */
  readonly blocksSince: readonly [number, number, number] | undefined;
  /** The version with which the behaviour was observed. Undefined: documentation only. */
  readonly observed: string | undefined;
  /** Address of the documentation or source. */
  readonly source: string;
}
