/**
 * The proxies of deploy/ as processes of this machine: their own configuration files, with nothing
 * changed but addresses, folders and the certificate.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "node:tls";
import { findFreePort } from "@countersign/testing/free-port";
import { createSelfSigned } from "../../packages/server/test/support/self-signed.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

export const PROXIES = ["nginx", "caddy"] as const;

export type ProxyName = (typeof PROXIES)[number];

export interface RunningProxy {
  readonly port: number;
  /** The authority that its certificate can be checked with. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** Replacements in the configuration file, for example a shorter timeout. */
type Changes = readonly (readonly [string, string])[];

/**
 * @param folder for its files; the caller removes it
 * @param upstreams ports on loopback
 */
export async function startProxy(
  name: ProxyName,
  folder: string,
  upstreams: readonly number[],
  changes: Changes = [],
): Promise<RunningProxy> {
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort();
  const prepare = name === "nginx" ? nginx : caddy;
  const { args, env, caFile } = prepare(folder, port, upstreams, changes);
  // Debian has nginx where only root looks for programs.
  const PATH = `${process.env.PATH}:/usr/sbin`;
  const child = spawn(name, args, { stdio: "inherit", env: { ...process.env, PATH, ...env } });
  process.once("exit", () => child.kill("SIGKILL"));
  const ca = await untilServing(child, port, caFile);
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { port, ca, stop };
}

interface Start {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly caFile: string;
}

type Upstreams = readonly number[];

function nginx(folder: string, port: number, upstreams: Upstreams, changes: Changes): Start {
  const { key, certificate } = createSelfSigned();
  const [certFile, keyFile] = [join(folder, "fullchain.pem"), join(folder, "privkey.pem")];
  writeFileSync(certFile, certificate);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const text = replaceEach(readFileSync(join(DEPLOY, "nginx/nginx.conf"), "utf8"), [
    ["user www-data;", ""],
    ["/run/nginx.pid", join(folder, "nginx.pid")],
    ...changes,
    [`server 127.0.0.1:8787 ${OPTIONS}\n`, ""],
    [`server 127.0.0.1:8788 ${OPTIONS}`, upstreams.map(serverLine).join("\n")],
    ["listen 80;\n    listen [::]:80;", `listen 127.0.0.1:${port + 1};`],
    ["listen 443 ssl;\n    listen [::]:443 ssl;", `listen 127.0.0.1:${port} ssl;`],
    ["/etc/nginx/tls/fullchain.pem", certFile],
    ["/etc/nginx/tls/privkey.pem", keyFile],
    ["/var/log/nginx/access.log", join(folder, "access.log")],
    ["/var/log/nginx/error.log", join(folder, "error.log")],
  ]);
  const file = join(folder, "nginx.conf");
  writeFileSync(file, text);
  return { args: ["-c", file, "-p", folder, "-g", "daemon off;"], env: {}, caFile: certFile };
}

const OPTIONS = "max_fails=1 fail_timeout=2s;";

function serverLine(port: number): string {
  return `server 127.0.0.1:${port} ${OPTIONS}`;
}

function caddy(folder: string, port: number, upstreams: Upstreams, changes: Changes): Start {
  const options = "skip_install_trust\n\tauto_https disable_redirects\n\tadmin off";
  const text = replaceEach(readFileSync(join(DEPLOY, "caddy/Caddyfile"), "utf8"), [
    ...changes,
    ["{\n\tservers {", `{\n\t${options}\n\tservers {`],
  ]);
  const file = join(folder, "Caddyfile");
  writeFileSync(file, text);
  const env = {
    SITE: `localhost:${port}`,
    UPSTREAMS: upstreams.map((upstream) => `127.0.0.1:${upstream}`).join(" "),
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const caFile = join(folder, "caddy/pki/authorities/local/root.crt");
  return { args: ["run", "--config", file, "--adapter", "caddyfile"], env, caFile };
}

/** @throws Error when there is nothing to replace: the file has changed and this has not */
function replaceEach(text: string, changes: Changes): string {
  let changed = text;
  for (const [from, to] of changes) {
    if (!changed.includes(from)) throw new Error(`nothing to replace: ${from}`);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}

/**
 * Waits for a TLS handshake: Caddy opens its port before it has a certificate.
 *
 * @returns the authority of the certificate
 * @throws Error when the proxy ends first
 */
async function untilServing(child: ChildProcess, port: number, caFile: string): Promise<string> {
  const failed = once(child, "error").then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the proxy ended with ${child.exitCode}`);
    const ca = existsSync(caFile) ? readFileSync(caFile, "utf8") : "";
    if (ca !== "" && (await Promise.race([completesHandshake(port, ca), failed]))) return ca;
    await pause(50);
  }
}

function completesHandshake(port: number, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca });
    const end = (isComplete: boolean) => {
      socket.destroy();
      resolve(isComplete);
    };
    socket.once("secureConnect", () => end(true));
    socket.once("error", () => end(false));
  });
}
