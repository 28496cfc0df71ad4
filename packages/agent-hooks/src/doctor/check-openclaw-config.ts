/** OpenClaw loads a plugin file only if its configuration names and enables it. */

import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { SettingsFile } from "../install/settings-file.ts";
import { type Finding, fail, warn } from "./finding.ts";

/** The name of the plugin in the configuration. */
const ID = "countersign";

type Members = Readonly<Record<string, unknown>>;

/** The configuration beside a plugin file. */
export function openClawConfigFile(plugin: string): string {
  return join(dirname(plugin), "openclaw.json");
}

/** @returns undefined if it is not JSON with comments: OpenClaw also reads JSON5 */
export function readOpenClawConfig(file: string): Members | undefined {
  const errors: ParseError[] = [];
  const options = { allowTrailingComma: true };
  const value: unknown = parse(new SettingsFile(file).text ?? "{}", errors, options);
  return errors.length > 0 ? undefined : (Object(value) as Members);
}

/** @param plugin the file that install wrote */
export function checkOpenClawConfig(plugin: string): Finding[] {
  const file = openClawConfigFile(plugin);
  const advice =
    `In ${file}, add ${JSON.stringify(plugin)} to plugins.load.paths, and set ` +
    `plugins.entries.${ID}.enabled to true.`;
  let config: Members | undefined;
  try {
    config = readOpenClawConfig(file);
  } catch (error) {
    return [fail("settings.disabled", `${file} cannot be read: ${Object(error).message}`, advice)];
  }
  if (config === undefined) {
    const text = `${file} is not JSON, so whether OpenClaw loads the hook was not checked.`;
    return [warn("settings.disabled", text, advice)];
  }
  if (isLoaded(Object(config.plugins), plugin)) return [];
  const text = "OpenClaw does not load the hook. Calls run without approval.";
  return [fail("settings.disabled", text, advice)];
}

function isLoaded({ enabled, allow, deny, entries, load }: Members, plugin: string): boolean {
  const { paths } = Object(load) as Members;
  const entry = Object(Object(entries)[ID]) as Members;
  return (
    enabled !== false &&
    entry.enabled === true &&
    !(Array.isArray(deny) && deny.includes(ID)) &&
    (!Array.isArray(allow) || allow.length === 0 || allow.includes(ID)) &&
    Array.isArray(paths) &&
    paths.some((path) => typeof path === "string" && atHome(path) === resolve(plugin))
  );
}

function atHome(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(path);
}
