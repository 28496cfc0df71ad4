/**
 * The hooks in the settings text of any agent, by the kind of its settings.
 *
 * Pure.
 */

import {
  type Agent,
  eventsOf,
  type HookEvent,
  type HookSettingsFormat,
  type OwnFile,
} from "@countersign/agents";
import { isHookCommand } from "./hook-command.ts";
import { handlersIn, insertHandler, removeHandlers } from "./json-settings.ts";
import { commandOf, type Handler, UnusableSettings } from "./settings-handler.ts";
import { insertTable, removeTables, tomlHandlers } from "./toml-settings.ts";
import { insertItem, removeItems, yamlHandlers } from "./yaml-settings.ts";

/** The command of a hook, and its limit in the agent's settings. */
export interface HookEntry {
  readonly command: string;
  readonly limitMs: number;
  /** Further members of the entry. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** All handlers before tool calls, and those of install. */
export interface FoundHooks {
  readonly all: readonly Handler[];
  readonly own: readonly Handler[];
}

/**
 * @param text of the file; empty when it does not exist
 * @throws UnusableSettings when the text is not readable
 */
export function findHooks(agent: Agent, text: string): FoundHooks {
  const all = text.trim() === "" ? [] : allHandlers(agent, text);
  return { all, own: all.filter(({ value }) => isOwn(agent, value)) };
}

function allHandlers(agent: Agent, text: string): Handler[] {
  const { settings } = agent;
  switch (settings.kind) {
    case "json":
      return handlersIn(text, namesOf(agent), settings);
    case "toml":
      return tomlHandlers(text, namesOf(agent));
    case "yaml":
      return yamlHandlers(text, namesOf(agent));
    case "own-file":
      return ownFileHandlers(agent, settings, text);
  }
}

/** Whether install added the handler for this agent. */
function isOwn({ name }: Agent, value: Handler["value"]): boolean {
  const command = commandOf(value);
  return command !== undefined && isHookCommand(command, name);
}

/** The handler of the hook in the settings. */
export function handlerOf(
  settings: HookSettingsFormat,
  { command, limitMs, members }: HookEntry,
): Readonly<Record<string, unknown>> {
  if (settings.kind === "own-file") return { command };
  return { ...settings.handler(command, limitMs), ...members };
}

/**
 * Adds the hook to each event.
 *
 * @returns the text, and its new parts in the order of their insertion
 * @throws UnusableSettings when the text is not readable, or the file belongs to someone else
 */
export function addHooks(
  { settings }: Agent,
  original: string,
  events: readonly HookEvent[],
  entry: HookEntry,
): { readonly text: string; readonly inserted: readonly string[] } {
  if (settings.kind === "own-file") {
    if (original.trim() !== "") {
      throw new UnusableSettings("it exists, and install did not create it; rename or delete it");
    }
    const text = settings.text(entry.command);
    return { text, inserted: [text] };
  }
  let text = original;
  const inserted: string[] = [];
  for (const { name } of events) {
    const edited = insertInto(settings, text, name, handlerOf(settings, entry));
    text = edited.text;
    inserted.push(edited.inserted);
  }
  return { text, inserted };
}

function insertInto(
  settings: Exclude<HookSettingsFormat, OwnFile>,
  text: string,
  event: string,
  handler: Handler["value"],
): { readonly text: string; readonly inserted: string } {
  switch (settings.kind) {
    case "json":
      return insertHandler(text, event, handler, settings);
    case "toml":
      return insertTable(text, event, handler);
    case "yaml":
      return insertItem(text, event, handler);
  }
}

/**
 * @param inserted the parts that install added, in the order of their insertion
 * @returns the text without the hook; undefined: delete the file
 * @throws UnusableSettings when the text is not readable
 */
export function removeHooks(
  agent: Agent,
  text: string,
  inserted: readonly string[] | undefined,
): string | undefined {
  const { name, settings } = agent;
  const isOwnHere = (value: Handler["value"]) => isOwn(agent, value);
  switch (settings.kind) {
    case "json":
      return removeHandlers(text, namesOf(agent), { name, settings }, inserted);
    case "toml":
      return removeTables(text, isOwnHere, inserted);
    case "yaml":
      return removeItems(text, namesOf(agent), isOwnHere, inserted);
    case "own-file": {
      const fault = ownFileFault(agent, text);
      if (fault !== undefined) throw new UnusableSettings(`${fault}; rename or delete it`);
      return ownFileHandlers(agent, settings, text).length > 0 ? undefined : text;
    }
  }
}

/** The names of all events that can have the hook. */
function namesOf(agent: Agent): readonly string[] {
  return eventsOf(agent).map(({ name }) => name);
}

/**
 * Why a file that only the hook uses may not work: it has the command, and another program.
 *
 * @returns undefined for settings that the hook shares
 */
export function ownFileFault(agent: Agent, text: string): string | undefined {
  const { settings } = agent;
  if (settings.kind !== "own-file") return undefined;
  const [hook] = ownFileHandlers(agent, settings, text);
  if (hook === undefined || settings.text(String(hook.value.command)) === text) return undefined;
  return "it differs from the file that install writes";
}

/** The hook in a file of its own, one handler for each event. */
function ownFileHandlers({ name, events }: Agent, settings: OwnFile, text: string): Handler[] {
  const command = settings.command(text);
  if (command === undefined || !isHookCommand(command, name)) return [];
  return events.map((event) => {
    return {
      event: event.name,
      group: 0,
      index: 0,
      matcher: undefined,
      siblings: 1,
      value: { command },
    };
  });
}
