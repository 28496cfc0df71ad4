/** Lists the tools of Codex's MCP servers for the hook, at install and in doctor. */

import { rmSync } from "node:fs";
import { visibleText } from "@countersign/protocol";
import { type Finding, ok, warn } from "../doctor/finding.ts";
import type { InstallPlace } from "../install/install.ts";
import { listTools } from "./list-tools.ts";
import { readConfig, serverSettings, toolListFile, writeToolList } from "./tool-list.ts";
import { configFile } from "./trust-file.ts";

const CHECK = "tools";

/** The reason of a failure may quote a long output. */
const REASON_LENGTH_MAX = 200;

const CONSEQUENCE = "Requests of these servers have the names as Codex writes them.";

/** @returns no finding if Codex has no MCP servers */
export async function refreshTools(
  { agent, home, profile }: InstallPlace,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const config = configFile(agent.settings.file(environment));
  const file = toolListFile(profile);
  try {
    if (serverSettings(readConfig(config)).size === 0) {
      rmSync(file, { force: true });
      return [];
    }
    const order = { program: agent.program ?? agent.name, config, folder: home, environment };
    const { list, failed } = await listTools(order);
    writeToolList(file, list);
    if (failed.length === 0) {
      const count = list.servers.reduce((sum, { tools }) => sum + tools.length, 0);
      const names = `names of ${count} tools of ${list.servers.length} MCP servers`;
      const text = `The hook has the ${names}.`;
      return [ok(CHECK, text)];
    }
    const names = failed.map(({ name }) => name).join(", ");
    const reason = (failed[0]?.reason ?? "").slice(0, REASON_LENGTH_MAX);
    const text = `Codex could not list the tools of ${names} (${reason}). ${CONSEQUENCE}`;
    return [warn(CHECK, visibleText(text), "Start Codex with these servers, then repeat this.")];
  } catch (error) {
    const { code, message } = Object(error);
    const reason = code === "ENOENT" ? "codex is not on the PATH" : String(message);
    const text = `The tools of Codex's MCP servers were not listed: ${reason}. ${CONSEQUENCE}`;
    return [warn(CHECK, visibleText(text), "Run doctor codex where Codex starts.")];
  }
}
