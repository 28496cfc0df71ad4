/**
 * The tools of Codex's MCP servers, as doctor and install have listed them. The hook only reads
 * this file: it starts no server, and needs no environment variable of one.
 *
 * A list is valid for the configuration with which it was made. A server with other settings is a
 * server without a list.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Fields, JsonArray, type JsonValue, parseJson } from "@countersign/protocol";
import { readOwnerOnly, replaceFile } from "../profile/owner-only-file.ts";
import { parseConfig } from "./config.ts";
import type { ListedServer } from "./tool-names.ts";

export interface ToolList {
  /** Path of Codex's user-level `config.toml`. */
  readonly config: string;
  readonly servers: readonly ListedWith[];
}

export interface ListedWith extends ListedServer {
  /** SHA-256 of the server's settings in `config`. */
  readonly settings: string;
}

/** The configured servers, with the SHA-256 of their settings. Without disabled servers. */
export type ServerSettings = ReadonlyMap<string, string>;

/** Settings that Codex writes when its user permits a tool. They do not change the names. */
const IGNORED = "tools";

/** Beside the profile: only its owner can write there. */
export function toolListFile(profile: string): string {
  return `${profile.replace(/\.json$/, "")}.tools.json`;
}

/** @throws UnusableConfig */
export function serverSettings(config: string): ServerSettings {
  const servers = Object(parseConfig(config).mcp_servers) as Record<string, unknown>;
  const entries = Object.entries(servers).flatMap(([name, value]): [string, string][] => {
    const { [IGNORED]: _, ...settings } = Object(value) as Record<string, unknown>;
    return settings.enabled === false ? [] : [[name, digest(settings)]];
  });
  return new Map(entries);
}

/** Separates the servers with a valid list from the others. */
export function validServers(
  { servers }: ToolList,
  settings: ServerSettings,
): { readonly listed: readonly ListedServer[]; readonly others: readonly string[] } {
  const listed = servers.filter((server) => settings.get(server.name) === server.settings);
  const names = new Set(listed.map(({ name }) => name));
  return { listed, others: [...settings.keys()].filter((name) => !names.has(name)) };
}

/**
 * @returns undefined if there is no list
 * @throws Error, Problem
 */
export function readToolList(path: string): ToolList | undefined {
  const text = readOwnerOnly(path);
  if (text === undefined) return undefined;
  const fields = new Fields(parseJson(text), ["config", "servers"]);
  return {
    config: fields.required("config", fields.text("config", 1)),
    servers: itemsOf(fields.value("servers")).map((item) => {
      const server = new Fields(item, ["name", "tools", "settings"], "servers");
      return {
        name: server.required("name", server.text("name", 1)),
        tools: itemsOf(server.value("tools")).filter((tool) => typeof tool === "string"),
        settings: server.required("settings", server.text("settings", 1)),
      };
    }),
  };
}

export function writeToolList(path: string, list: ToolList): void {
  const { config, servers } = list;
  const written = servers.map(({ name, tools, settings }) => ({ name, tools, settings }));
  replaceFile(path, `${JSON.stringify({ config, servers: written }, null, 2)}\n`);
}

/** The text of `config.toml`; empty if it does not exist. */
export function readConfig(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (Object(error).code === "ENOENT") return "";
    throw error;
  }
}

function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return value instanceof JsonArray ? value.items : [];
}

function digest(settings: object): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(settings)))
    .digest("hex");
}

/** The order of members in TOML has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}
