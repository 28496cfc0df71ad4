/**
 * The settings of the gateway: what its config file may say, and what holds without it.
 *
 * @see docs/reference/mcp-gateway.md
 */

import { JsonObject, type JsonValue } from "@countersign/protocol";
import type { ToolIdentity } from "@countersign/sdk";
import type { ChildOrder } from "./child-channel.ts";
import type { Definitions } from "./definitions.ts";
import type { HttpOrder } from "./http-channel.ts";
import {
  isProtectedUrl,
  LOOPBACK,
  type ResourceConfig,
  readLogin,
  readResource,
} from "./oauth/config.ts";
import { Section } from "./section.ts";

export interface ServerConfig {
  readonly name: string;
  /** Begins the names of its tools and prompts, as the client knows them. */
  readonly prefix: string;
  /** Start of the submitted tool names. Undefined: the server is submitted beside the tool. */
  readonly askPrefix: string | undefined;
  readonly child: ChildOrder | undefined;
  readonly http: HttpOrder | undefined;
  /** Path of the file with the definitions that may be called; undefined for any. */
  readonly pinsFile: string | undefined;
  /** The definitions in that file. */
  readonly pins: Definitions | undefined;
  readonly startMs: number;
  readonly listMs: number;
}

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  /** At least one of this and `oauth` is present. */
  readonly tokenFile: string | undefined;
  readonly oauth: ResourceConfig | undefined;
  /** Values of Host besides those of this machine. */
  readonly hosts: readonly string[];
  /** Values of Origin that are admitted. */
  readonly origins: readonly string[];
  readonly sessionsMax: number;
  readonly idleMs: number;
}

export interface GatewayConfig {
  readonly providerUrl: string | undefined;
  readonly tokenFile: string | undefined;
  /** The window for a decision. */
  readonly timeout: string;
  /** Where the uses of approvals are kept. */
  readonly stateFolder: string | undefined;
  /** The interval of progress notifications to a waiting client. */
  readonly progressMs: number;
  readonly messageBytesMax: number;
  readonly servers: readonly ServerConfig[];
  readonly listen: ListenConfig | undefined;
}

const MIB = 1024 * 1024;

/** Of servers: no underscore, so that `files__read` is unambiguous for any tool name. */
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** The characters and length that clients accept in a tool name. */
const PREFIX = /^[A-Za-z0-9_.-]{0,64}$/;

/** Any text that a reviewer can read in one glance. */
const ASK_PREFIX = /^[\x21-\x7e]{0,200}$/;

/** @param faults gets a sentence for everything that is wrong */
export function readConfig(json: JsonValue, faults: string[]): GatewayConfig {
  const file = new Section(json, "", faults);
  const provider = file.section("provider");
  const servers = readServers(file, faults);
  const config = {
    providerUrl: provider?.text("url"),
    tokenFile: provider?.text("token_file"),
    timeout: file.duration("timeout") === undefined ? "1h" : (file.text("timeout") ?? "1h"),
    stateFolder: file.text("state"),
    progressMs: file.duration("progress") ?? 10_000,
    messageBytesMax: (file.integer("message_mib", 1, 256) ?? 16) * MIB,
    servers,
    listen: readListen(file.section("listen")),
  };
  provider?.end();
  file.end();
  return config;
}

function readListen(listen: Section | undefined): ListenConfig | undefined {
  if (listen === undefined) return undefined;
  const host = listen.text("host") ?? "127.0.0.1";
  const config = {
    host,
    port: listen.integer("port", 0, 65_535) ?? 8788,
    tokenFile: listen.text("token_file"),
    oauth: readResource(listen.section("oauth")),
    hosts: (listen.texts("hosts") ?? []).map((name) => name.toLowerCase()),
    origins: listen.texts("origins") ?? [],
    sessionsMax: listen.integer("sessions_max", 1, 10_000) ?? 16,
    idleMs: listen.duration("session_idle") ?? 30 * 60_000,
  };
  if (config.tokenFile === undefined && config.oauth === undefined) {
    listen.fault("", "needs token_file or oauth: HTTP clients must authenticate");
  }
  const isLocal = LOOPBACK.test(host) || host === "::1";
  if (!isLocal && config.hosts.length === 0) {
    listen.fault("hosts", "is required when other machines can connect");
  }
  listen.end();
  return config;
}

function readServers(file: Section, faults: string[]): ServerConfig[] {
  const servers = file.section("servers");
  const names = servers?.names ?? [];
  if (names.length === 0) file.fault("servers", "must name at least one server");
  const isOnly = names.length === 1;
  const read = names.map((name) => readServer(servers as Section, name, isOnly));
  for (const key of ["prefix", "askPrefix"] as const) {
    for (const one of read) {
      // A name that begins with both would belong to two.
      const other = read.find((o) => o !== one && startsWith(one[key], o[key]));
      if (other === undefined) continue;
      const member = key === "prefix" ? "prefix" : "ask_as";
      faults.push(
        `servers.${one.name}.${member} begins with that of ${other.name}: ` +
          `tool names would be ambiguous.`,
      );
    }
  }
  return read;
}

function startsWith(text: string | undefined, start: string | undefined): boolean {
  return text !== undefined && start !== undefined && text.startsWith(start);
}

/** The names under which the provider is asked about a tool. */
export function askedAs({ name, askPrefix }: ServerConfig, tool: string): ToolIdentity {
  return askPrefix === undefined ? { tool, server: name } : { tool: askPrefix + tool };
}

function readServer(servers: Section, name: string, isOnly: boolean): ServerConfig {
  const server = servers.section(name) as Section;
  if (!NAME.test(name)) servers.fault(name, "must be 1 to 32 of a-z, 0-9 and -");
  const prefix = server.text("prefix") ?? (isOnly ? "" : `${name}__`);
  if (!PREFIX.test(prefix))
    server.fault("prefix", "contains characters that tool names cannot have");
  const askAs = server.text("ask_as");
  const askPrefix = askAs?.replace(/\{tool\}$/, "");
  if (askPrefix !== undefined && (askPrefix === askAs || !ASK_PREFIX.test(askPrefix))) {
    server.fault("ask_as", "must be printable ASCII without spaces that ends with {tool}");
  }
  const config = {
    name,
    prefix,
    askPrefix,
    child: readChild(server),
    http: readHttp(server),
    pinsFile: server.text("pins"),
    pins: undefined,
    startMs: server.duration("start_timeout") ?? 60_000,
    listMs: server.duration("list_timeout") ?? 30_000,
  };
  if ((config.child === undefined) === (config.http === undefined)) {
    server.fault("", "needs either a command or a url");
  }
  server.end();
  return config;
}

function readChild(server: Section): ChildOrder | undefined {
  const command = server.text("command");
  const order = {
    args: server.texts("args") ?? [],
    env: server.textMap("env") ?? {},
    cwd: server.text("cwd"),
  };
  if (command === "") server.fault("command", "must not be empty");
  return command === undefined ? undefined : { command, ...order };
}

function readHttp(server: Section): HttpOrder | undefined {
  const text = server.text("url");
  const headers = server.textMap("headers") ?? {};
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      // Not the value: it may be a credential.
      server.fault("headers", `contains an invalid header name or value (${name})`);
    }
  }
  const oauth = readLogin(server.section("oauth"));
  if (text === undefined) {
    if (oauth !== undefined) server.fault("oauth", "needs a url");
    return undefined;
  }
  if (oauth !== undefined && Object.keys(headers).some((name) => /^authorization$/i.test(name))) {
    server.fault("oauth", "and the header authorization exclude each other");
  }
  if (!isProtectedUrl(text)) {
    server.fault("url", "must be https; http is allowed for localhost only");
  }
  return { url: text, headers, oauth };
}

/** @throws when the JSON is not a valid file of pins */
export function readPins(json: JsonValue): Definitions {
  if (!(json instanceof JsonObject)) throw new Error("it is not an object");
  const pins = new Map<string, string>();
  for (const [tool, digest] of json.members) {
    if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
      throw new Error(`the digest of ${JSON.stringify(tool)} is not valid`);
    }
    pins.set(tool, digest);
  }
  return pins;
}
