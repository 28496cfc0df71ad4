/**
 * Reads the gateway's files: config, tokens and pins. Files with credentials must belong to the
 * user that runs the gateway, and only this user may read them.
 */

import { open } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type JsonValue, Problem, parseJson } from "@countersign/protocol";
import { type GatewayConfig, readConfig, readPins, type ServerConfig } from "./config.ts";

/** Invalid settings, with a sentence for each error. Contains no credential. */
export class GatewayConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

/** @throws GatewayConfigError */
export async function loadConfig(
  path: string,
  env: NodeJS.ProcessEnv = {},
): Promise<GatewayConfig> {
  const text = await readPrivate(path);
  const faults: string[] = [];
  const config = readConfig(parse(text, path), faults);
  if (faults.length > 0) throw new GatewayConfigError(faults.map((fault) => `${path}: ${fault}`));
  const from = (file: string | undefined) => {
    return file === undefined ? undefined : inHome(file, dirname(resolve(path)));
  };
  const servers = config.servers.map(async (server) => {
    const pinned = await withPins(server, from(server.pinsFile));
    return withSecret(pinned, from(server.http?.oauth?.clientSecretFile), env);
  });
  const { listen } = config;
  return {
    ...config,
    tokenFile: from(config.tokenFile),
    stateFolder: from(config.stateFolder),
    servers: await Promise.all(servers),
    listen: listen && { ...listen, tokenFile: from(listen.tokenFile) },
  };
}

/** The config of one server from the command line, with defaults for the rest. */
export function configOfCommand(
  name: string,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): GatewayConfig {
  const [program = "", ...args] = command;
  const faults: string[] = [];
  const server = JSON.stringify({ command: program, args, env });
  const json = parseJson(`{"servers":{${JSON.stringify(name)}:${server}}}`);
  const config = readConfig(json, faults);
  if (faults.length > 0) throw new GatewayConfigError(faults);
  return config;
}

/** The default folder for records of used approvals. */
export function defaultStateFolder(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  return join(base, "countersign", "mcp-gateway");
}

/** Reads a file that contains only a credential. @throws GatewayConfigError */
export async function readTokenFile(path: string): Promise<string> {
  const token = (await readPrivate(path)).trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new GatewayConfigError([`${path} must hold a token and nothing else.`]);
}

async function withPins(server: ServerConfig, path: string | undefined): Promise<ServerConfig> {
  if (path === undefined) return server;
  try {
    return { ...server, pinsFile: path, pins: readPins(parse(await readText(path), path)) };
  } catch (error) {
    // Not written yet: no tool can be called until it is.
    if (codeOf(error) === "ENOENT") return { ...server, pinsFile: path, pins: new Map() };
    if (error instanceof GatewayConfigError) throw error;
    throw new GatewayConfigError([`${path} is not a valid pin file: ${(error as Error).message}.`]);
  }
}

/** Reads the client secret of the server, if the config names one. */
async function withSecret(
  server: ServerConfig,
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<ServerConfig> {
  const { http, name } = server;
  const variable = http?.oauth?.clientSecretEnv;
  if (http?.oauth === undefined || (file ?? variable) === undefined) return server;
  const clientSecret = file === undefined ? env[variable ?? ""] : await readTokenFile(file);
  if (!clientSecret) {
    throw new GatewayConfigError([`servers.${name}: the variable ${variable} is not set.`]);
  }
  return { ...server, http: { ...http, oauth: { ...http.oauth, clientSecret } } };
}

function inHome(file: string, folder: string): string {
  return file.startsWith("~/") ? join(homedir(), file.slice(2)) : resolve(folder, file);
}

/** @throws GatewayConfigError */
function parse(text: string, path: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new GatewayConfigError([`${path}: ${error.message.replace("The body", "It")}`]);
  }
}

async function readText(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** @throws GatewayConfigError */
async function readPrivate(path: string): Promise<string> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, "r");
  } catch (error) {
    throw new GatewayConfigError([`${path} cannot be read (${String(codeOf(error))}).`]);
  }
  try {
    // Checks the open file: nothing can replace it between the check and the read.
    const { mode, uid } = await file.stat();
    const own = process.getuid?.();
    if (own !== undefined && uid !== own) {
      throw new GatewayConfigError([
        `${path} belongs to another user. It may contain credentials.`,
      ]);
    }
    if (own !== undefined && (mode & 0o077) !== 0) {
      const message = `Other users can read ${path}. Run: chmod 600 ${path}`;
      throw new GatewayConfigError([message]);
    }
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): unknown {
  return (Object(error) as { readonly code?: unknown }).code;
}
