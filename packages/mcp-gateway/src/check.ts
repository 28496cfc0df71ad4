/**
 * Checks a config without a client: starts every server, lists its tools, and stops it. With
 * --pin, writes pins of the listed definitions.
 */

import { rename, writeFile } from "node:fs/promises";
import type { GatewayConfig, ServerConfig } from "./config.ts";
import type { ListedTool } from "./definitions.ts";
import { CODE, errorOf, textIn } from "./exact-message.ts";
import { channelTo } from "./gateway.ts";
import { CHECK_INITIALIZE_PARAMS } from "./initialize.ts";
import { explain, type Report, reportAbout } from "./report.ts";
import { McpServer } from "./server.ts";

export interface CheckedServer {
  readonly name: string;
  readonly config: ServerConfig;
  /** In the server's own words. */
  readonly version: string | undefined;
  readonly tools: readonly ListedTool[];
  /** The reason why the check of this server failed. */
  readonly fault: string | undefined;
}

export async function checkServers(
  config: GatewayConfig,
  stateFolder: string,
  report: Report,
): Promise<CheckedServer[]> {
  const checks = config.servers.map((server) => check(server, config, stateFolder, report));
  return Promise.all(checks);
}

async function check(
  config: ServerConfig,
  gateway: GatewayConfig,
  stateFolder: string,
  report: Report,
): Promise<CheckedServer> {
  const { name } = config;
  const events = {
    // There is no client that could be asked.
    request: async () => errorOf(CODE.methodNotFound, "Not available during a check."),
    notification: () => {},
    changed: () => {},
  };
  const about = reportAbout(report, { server: name });
  const open = () => channelTo(config, gateway, stateFolder, report);
  const server = new McpServer(config, open, events, about);
  try {
    const opening = await server.open(CHECK_INITIALIZE_PARAMS);
    await server.ready();
    const tools = await server.listTools();
    const version = textIn(opening, "protocolVersion");
    return { name, config, version, tools, fault: undefined };
  } catch (error) {
    return { name, config, version: undefined, tools: [], fault: explain(error) };
  } finally {
    await server.close();
  }
}

/** Whole or not at all. */
export async function writePins(path: string, tools: readonly ListedTool[]): Promise<void> {
  const pins = Object.fromEntries(tools.map(({ name, digest }) => [name, digest]));
  const draft = `${path}.draft`;
  await writeFile(draft, `${JSON.stringify(pins, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}
