/** The command: reads its options and files, and serves, checks or pins. */

import { resolve } from "node:path";
import {
  type Command,
  CommandError,
  type CommandLine,
  EXIT,
  type ExitCode,
  renderColumns,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { visibleText } from "@countersign/protocol";
import { keyFile, type Probe, probeProvider, SdkError, type ToolIdentity } from "@countersign/sdk";
import { type CheckedServer, checkServers, writePins } from "./check.ts";
import { askedAs, type GatewayConfig, type ListenConfig } from "./config.ts";
import {
  configOfCommand,
  defaultStateFolder,
  GatewayConfigError,
  loadConfig,
  readTokenFile,
} from "./config-file.ts";
import { type Gateway, type GatewayParts, serveHttp, serveStdio } from "./gateway.ts";
import { AccessTokens } from "./oauth/access-tokens.ts";
import { OauthError } from "./oauth/discovery.ts";
import { logIn } from "./oauth/login.ts";
import { reportToStderr } from "./report.ts";
import { VERSION } from "./version.ts";

export const mcpGateway: Command = {
  usage: "[-- COMMAND ARGS]",
  help: "Request approval before each tool call of MCP servers.",
  example: "--provider-url https://approvals.example.com -- npx my-mcp-server",
  options: {
    config: { type: "text", value: "FILE", help: "JSON file with servers and settings." },
    name: { type: "text", value: "NAME", help: "Name of the server after --. [mcp]" },
    "pass-env": {
      type: "text",
      value: "NAMES",
      help: "Variables to pass to this server, separated by commas.",
    },
    "provider-url": {
      type: "text",
      value: "URL",
      help: "URL of the provider. [config, COUNTERSIGN_URL]",
    },
    "token-file": {
      type: "text",
      value: "FILE",
      help: "File with the key of the agent. [config, COUNTERSIGN_API_KEY]",
    },
    login: {
      type: "text",
      value: "SERVER",
      help: "Log in at the authorization server of a server.",
    },
    check: { type: "flag", help: "Start the servers, list their tools, test the provider." },
    pin: {
      type: "flag",
      help: "Start the servers and write the digests of their tools to the pin files.",
    },
  },

  async run(line, terminal) {
    try {
      const config = await readConfig(line);
      const login = line.text("login");
      if (login !== undefined) return await logInTo(login, config, terminal);
      if (line.flag("check") || line.flag("pin")) return await check(line, terminal, config);
      return await serve(await readParts(line, config), terminal);
    } catch (error) {
      if (error instanceof GatewayConfigError) {
        throw new CommandError(EXIT.usage, "config", error.message);
      }
      if (error instanceof SdkError) throw new CommandError(EXIT.usage, error.code, error.message);
      throw error;
    }
  },
};

async function readConfig(line: CommandLine): Promise<GatewayConfig> {
  const file = line.text("config");
  const command = line.positionals;
  if (file !== undefined && command.length > 0) {
    throw usageError("give the servers with --config or after --, not both");
  }
  if (file !== undefined) {
    for (const name of ["name", "pass-env"]) {
      if (line.text(name) !== undefined) throw usageError(`--${name} needs a command after --`);
    }
    return loadConfig(file, process.env);
  }
  if (command.length === 0) {
    throw usageError("no server: give --config FILE or -- COMMAND ARGS");
  }
  const names = (line.text("pass-env") ?? "").split(",").filter((name) => name !== "");
  const env = names.map((name) => {
    const value = process.env[name];
    if (value === undefined) throw usageError(`--pass-env names ${name}, which is not set`);
    return [name, value] as const;
  });
  return configOfCommand(line.text("name") ?? "mcp", command, Object.fromEntries(env));
}

async function readParts(line: CommandLine, config: GatewayConfig): Promise<GatewayParts> {
  const { env } = process;
  const providerUrl = line.text("provider-url") ?? config.providerUrl ?? env.COUNTERSIGN_URL;
  if (!providerUrl) {
    throw usageError("no provider URL: give --provider-url, provider.url or COUNTERSIGN_URL");
  }
  const named = line.text("token-file") ?? config.tokenFile;
  const variable = named === undefined ? readKey(env) : undefined;
  const file = named ?? (variable ? undefined : env.COUNTERSIGN_API_KEY_FILE || undefined);
  if (file === undefined && !variable) {
    throw usageError(
      "no key of the agent: give --token-file, provider.token_file, COUNTERSIGN_API_KEY or " +
        "COUNTERSIGN_API_KEY_FILE",
    );
  }
  return {
    config,
    providerUrl,
    instanceToken: file === undefined ? (variable ?? "") : await openTokenFile(resolve(file)),
    stateFolder: stateFolderOf(config),
    version: VERSION,
    report: reportToStderr,
  };
}

/** Checks the file now, and reads it again before each use: another program may replace the key. */
async function openTokenFile(file: string): Promise<() => string> {
  await readTokenFile(file);
  return keyFile(file);
}

function stateFolderOf({ stateFolder }: GatewayConfig): string {
  return stateFolder ?? defaultStateFolder(process.env);
}

async function logInTo(name: string, config: GatewayConfig, terminal: Terminal): Promise<ExitCode> {
  const http = config.servers.find((server) => server.name === name)?.http;
  if (http?.oauth === undefined) throw usageError(`the config has no server ${name} with oauth`);
  if (http.oauth.isMachine) throw usageError(`the server ${name} uses client_credentials`);
  const { url, oauth } = http;
  try {
    await logIn({ name, url, oauth }, stateFolderOf(config), (address) => {
      terminal.note("Open this address in a browser on this machine:");
      terminal.out(address);
    });
  } catch (error) {
    if (!(error instanceof OauthError)) throw error;
    throw new CommandError(EXIT.refused, "login_failed", visibleText(error.message));
  }
  terminal.note(`The gateway is logged in to ${name}.`);
  return EXIT.done;
}

/** The old name is accepted until the next version. */
function readKey(env: NodeJS.ProcessEnv): string | undefined {
  const { COUNTERSIGN_API_KEY: key, COUNTERSIGN_INSTANCE_TOKEN: old } = env;
  if (key || !old) return key;
  const advice = "Set COUNTERSIGN_API_KEY instead.";
  reportToStderr("variable_deprecated", { name: "COUNTERSIGN_INSTANCE_TOKEN", advice });
  return old;
}

async function serve(parts: GatewayParts, terminal: Terminal): Promise<ExitCode> {
  const { listen } = parts.config;
  const gateway: Gateway =
    listen === undefined
      ? // Nothing else may write to stdout: it belongs to the client.
        await serveStdio(parts, process.stdin, process.stdout)
      : await serveHttp(parts, await readClientToken(listen)).catch(cannotListen);
  if (gateway.url !== undefined) {
    terminal.out(JSON.stringify({ event: "mcp_gateway.started", address: gateway.url }));
  }
  const stopped = new Promise<void>((stop) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop());
  });
  await Promise.race([stopped, gateway.ended]);
  await gateway.close();
  return EXIT.done;
}

async function readClientToken({ tokenFile }: ListenConfig): Promise<string | undefined> {
  return tokenFile === undefined ? undefined : await readTokenFile(tokenFile);
}

function cannotListen(error: unknown): never {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  if (code === undefined) throw error;
  throw new CommandError(EXIT.refused, "cannot_listen", `cannot listen as configured (${code})`);
}

async function check(
  line: CommandLine,
  terminal: Terminal,
  config: GatewayConfig,
): Promise<ExitCode> {
  const [servers, provider, issuer] = await Promise.all([
    checkServers(config, stateFolderOf(config), reportToStderr),
    line.flag("check") ? checkProvider(line, config) : undefined,
    line.flag("check") ? checkIssuer(config) : undefined,
  ]);
  const failed = servers.filter(({ fault }) => fault !== undefined);
  if (line.flag("pin")) await pin(servers, failed.length);
  if (line.json) {
    terminal.out(JSON.stringify({ provider, issuer, servers: servers.map(toJson) }));
  } else {
    if (provider !== undefined) terminal.out(`provider: ${visibleText(provider.text)}`);
    if (issuer !== undefined) terminal.out(`issuer: ${visibleText(issuer.text)}`);
    for (const server of servers) terminal.out(render(server));
  }
  const isFailed = failed.length > 0 || issuer?.kind === "refused";
  if (isFailed || provider?.kind === "refused") return EXIT.refused;
  return provider?.kind === "unreachable" ? EXIT.unreachable : EXIT.done;
}

/** Uses the same settings as the gateway, so that it reports missing ones too. */
async function checkProvider(
  line: CommandLine,
  config: GatewayConfig,
): Promise<Pick<Probe, "kind" | "text">> {
  try {
    const { providerUrl, instanceToken } = await readParts(line, config);
    const key = typeof instanceToken === "string" ? instanceToken : instanceToken();
    const { kind, text } = await probeProvider(providerUrl, key);
    return { kind, text: `${providerUrl}: ${text}` };
  } catch (error) {
    if (error instanceof CommandError || error instanceof GatewayConfigError) {
      return { kind: "refused", text: error.message };
    }
    throw error;
  }
}

/** Reads the keys that check the access tokens of clients. */
async function checkIssuer({ listen }: GatewayConfig) {
  if (listen?.oauth === undefined) return undefined;
  const { issuer } = listen.oauth;
  try {
    await new AccessTokens(listen.oauth).check();
    return { kind: "ok", text: `${issuer}: its keys are available` };
  } catch (error) {
    if (!(error instanceof OauthError)) throw error;
    return { kind: "refused", text: error.message };
  }
}

/** Writes all pins or none: with some missing, those servers could not be called. */
async function pin(servers: readonly CheckedServer[], failed: number): Promise<void> {
  if (failed > 0) return;
  const pinned = servers.filter(({ config }) => config.pinsFile !== undefined);
  if (pinned.length === 0) throw usageError("no server in the config has pins");
  for (const { config, tools } of pinned) await writePins(config.pinsFile ?? "", tools);
}

function toJson({ name, config, version: spoken, tools, fault }: CheckedServer): object {
  return {
    name,
    protocol_version: spoken,
    fault,
    tools: tools.map((tool) => ({
      name: config.prefix + tool.name,
      asked_as: askedAs(config, tool.name),
      definition: tool.digest,
      pinned: config.pins === undefined ? undefined : config.pins.get(tool.name) === tool.digest,
    })),
  };
}

function renderIdentity({ tool, server }: ToolIdentity): string {
  return server === undefined ? tool : `${tool} on ${server}`;
}

function render({ name, config, tools, fault }: CheckedServer): string {
  if (fault !== undefined) return `${name}: ${visibleText(fault)}`;
  const rows = tools.map((tool) => {
    const isPinned = config.pins?.get(tool.name) === tool.digest;
    return [
      `  ${visibleText(config.prefix + tool.name)}`,
      visibleText(renderIdentity(askedAs(config, tool.name))),
      tool.digest.slice(0, 19),
      config.pins === undefined ? "" : isPinned ? "pinned" : "differs from pin",
    ];
  });
  const head = `${name}: ${tools.length} tools`;
  return rows.length === 0
    ? head
    : `${head}\n${renderColumns([["  TOOL", "ASKED AS", "DEFINITION", ""], ...rows])}`;
}
