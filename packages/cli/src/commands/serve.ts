/** The command that runs the server. */

import { CommandError, EXIT } from "@countersign/command-line";
import { Problem } from "@countersign/protocol";
import {
  Failure,
  makeSetupLink,
  needsSetup,
  type Provider,
  startProvider,
  toSecrets,
  toSettings,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { VERSION } from "../version.ts";
import { DEFAULT_PROJECT, linkTo } from "./people-links.ts";

export const serve: Command = {
  usage: "serve",
  help: "Start the approval provider.",
  example: "serve --port 8787",
  options: {},
  settings: ["server", "limits", "sign-in", "webhooks", "channels"],

  async run(line, terminal) {
    line.take();
    const config = line.config();
    const settings = toSettings(config);
    // Registered before the start: a supervisor may stop the server while it starts.
    const stopped = stopSignal();
    const provider = await start(settings, toSecrets(config));
    if (!line.json) terminal.note(banner(provider, await setupLink(provider)));
    const signal = await Promise.race([stopped, provider.closed]);
    // A restart fails with the same error until the program is upgraded.
    if (signal instanceof Failure) throw signal;
    if (!line.json) terminal.note(`${signal}: answering long polls and stopping.`);
    await provider.close();
    return EXIT.done;
  },
};

async function start(...parameters: Parameters<typeof startProvider>): Promise<Provider> {
  try {
    return await startProvider(...parameters);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const [{ host, port }] = parameters;
    if (code === "EADDRINUSE") {
      const message = `${host} port ${port} is in use; set another port with --port`;
      throw new CommandError(EXIT.refused, "address_in_use", message);
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      const message = `cannot listen on ${host} port ${port} (${code})`;
      throw new CommandError(EXIT.refused, "cannot_listen", message);
    }
    throw error;
  }
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process the usual way. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    function stop(signal: NodeJS.Signals): void {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      resolve(signal);
    }
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}

/**
 * Printed on the terminal of the operator, never in a log.
 *
 * @returns undefined when an account exists, or when the link cannot be created; the server runs
 */
async function setupLink({ context, publicUrl }: Provider): Promise<string | undefined> {
  try {
    if (!(await needsSetup(context))) return undefined;
    return linkTo(publicUrl, "setup", await makeSetupLink(context, DEFAULT_PROJECT));
  } catch (error) {
    if (error instanceof Failure || error instanceof Problem) return undefined;
    throw error;
  }
}

/** @param setup setup link for the first account */
function banner(provider: Provider, setup: string | undefined): string {
  const { url, publicUrl, context } = provider;
  const { dataDirectory, pathPrefix } = context.settings;
  const base = (context.settings.publicUrl ?? url) + pathPrefix;
  const isFolder = context.store.isExclusive;
  const data = isFolder && dataDirectory !== "./data" ? ` --data ${shellQuote(dataDirectory)}` : "";
  return `
Countersign ${VERSION}: ${opened(provider)}, serving ${url}
  Contract   ${base}/v1   (description: ${url}/openapi.yaml)
  Inbox      ${publicUrl}/inbox
  Health     ${url}/healthz  ${url}/readyz  ${url}/metrics
${setup === undefined ? "" : invitationOf(setup)}
First steps, in another terminal in the same folder${isFolder ? "" : SAME_VARIABLES}:

  # 1. A reviewer: you
  export COUNTERSIGN_URL=${url}
  export COUNTERSIGN_TOKEN=$(npx --no -- countersign tokens create reviewer --name me${data})

  # 2. A provisioner, and with it an instance for your agent
  PROVISIONER=$(npx --no -- countersign tokens create provisioner --name setup${data})
  INSTANCE=$(curl -s ${base}/v1/instances -H "Authorization: Bearer $PROVISIONER" \\
    -H "Idempotency-Key: first" -H "Content-Type: application/json" -d '{}' \\
    | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')

  # 3. A first request, as your agent would make it
  curl -s ${base}/v1/requests -H "Authorization: Bearer $INSTANCE" \\
    -H "Idempotency-Key: call-1" -H "Content-Type: application/json" \\
    -d '{"tool":"deploy","arguments":{"env":"prod"},"timeout":"1h"}'; echo

  # 4. See it and decide
  npx --no -- countersign requests watch
`;
}

/** Otherwise the commands would create the tokens in another database. */
const SAME_VARIABLES = " and with the same COUNTERSIGN_ variables";

/** Printed at every start until an operator has used the link. */
function invitationOf(setup: string): string {
  return `
No one can sign in yet. To become the operator, open this link within 24 hours. It works once:

  ${setup}
`;
}

/** Says whether the start created or opened the database. */
function opened({ context: { settings, store }, isNew }: Provider): string {
  const { dataDirectory } = settings;
  if (!store.isExclusive) {
    return isNew ? "created the tables at database_url" : "opened the database at database_url";
  }
  const did = isNew ? "created a database and secret key in" : "opened the database in";
  return `${did} ${dataDirectory}`;
}

function shellQuote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
