/** The command that runs the server. */

import { CommandError, EXIT, type Terminal } from "@countersign/command-line";
import { Problem } from "@countersign/protocol";
import {
  DataInUse,
  Failure,
  makeSetupLink,
  needsSetup,
  type Provider,
  Report,
  type Settings,
  startProvider,
  toSecrets,
  toSettings,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { dataOption, ownCommand } from "../own-command.ts";
import { readableLog } from "../readable-log.ts";
import { isCountersign } from "../running-server.ts";
import { VERSION } from "../version.ts";
import { DEFAULT_PROJECT, linkTo } from "./people-links.ts";

export const serve: Command = {
  usage: "serve",
  help: "Start the approval server.",
  example: "serve --port 8787",
  options: {},
  settings: ["server", "limits", "sign-in", "workloads", "webhooks", "channels", "audit"],

  async run(line, terminal) {
    line.take();
    const config = line.config();
    const settings = toSettings(config);
    // Installed first: a supervisor may stop the server while it starts.
    const stopped = stopSignal();
    const report = line.json ? undefined : reportFor(terminal, settings);
    const provider = await start(settings, toSecrets(config), { report });
    if (!line.json) terminal.note(banner(provider, await setupLink(provider)));
    const signal = await Promise.race([stopped, provider.closed]);
    // The supervisor restarts it. That fails until the program is a newer version.
    if (signal instanceof Failure) throw signal;
    if (!line.json) terminal.note(`${signal}: stopping.`);
    await provider.close();
    return EXIT.done;
  },
};

/** @returns undefined where the log is JSON lines: stdout is a file or a pipe */
export function reportFor(terminal: Terminal, { logLevel }: Settings): Report | undefined {
  if (!terminal.hasScreen) return undefined;
  return new Report(logLevel, readableLog(terminal.out, logLevel === "debug"));
}

/** @throws CommandError when the port or the data cannot be used */
export async function start(...parameters: Parameters<typeof startProvider>): Promise<Provider> {
  try {
    return await startProvider(...parameters);
  } catch (error) {
    if (error instanceof DataInUse) throw alreadyRunning(error, parameters[0]);
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const [{ host, port }] = parameters;
    if (code === "EADDRINUSE") {
      const url = `http://localhost:${port}`;
      const user = (await isCountersign(url)) ? ` by another Countersign server, ${url}` : "";
      const message = `${host} port ${port} is in use${user}; set another port with --port`;
      throw new CommandError(EXIT.refused, "address_in_use", message);
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      const message = `cannot listen on ${host} port ${port} (${code})`;
      throw new CommandError(EXIT.refused, "cannot_listen", message);
    }
    throw error;
  }
}

function alreadyRunning(error: DataInUse, { dataDirectory }: Settings): CommandError {
  const command = `${ownCommand(process.env)} init${dataOption(dataDirectory)}`;
  const setUp = `To set it up, run: ${command}`;
  const second = "For a second server, give --data DIR and --port PORT.";
  const message = [error.message, setUp, second].join("\n");
  return new CommandError(EXIT.refused, error.dependency, message);
}

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process immediately. */
export function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    function stop(signal: NodeJS.Signals): void {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      resolve(signal);
    }
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}

/**
 * The link is a secret, so it is displayed to the user and never logged.
 *
 * @returns undefined when accounts exist, or the link cannot be created
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

/** @param setup the link of the first operator */
function banner(provider: Provider, setup: string | undefined): string {
  const { url, publicUrl, context } = provider;
  const isFolder = context.store.isExclusive;
  const data = isFolder ? dataOption(context.settings.dataDirectory) : "";
  const where = `in another terminal in this folder${isFolder ? "" : SAME_VARIABLES}`;
  const command = ownCommand(process.env);
  const head = `Countersign ${VERSION} is serving ${url} (${describeData(provider)}).`;
  if (setup === undefined) {
    return `${head}
Inbox: ${publicUrl}/inbox

Connect an agent, ${where}:

  ${command} agents create my-agent${data}
`;
  }
  return `${head}

No account exists yet. To become the operator, open this link. It works once, within 24 hours:

  ${setup}

Next, ${where}:

  ${command} init${data}
`;
}

/** Otherwise the command would use a data folder that this server does not use. */
const SAME_VARIABLES = " and with the same COUNTERSIGN_ variables";

function describeData({ context: { settings, store }, isNew }: Provider): string {
  if (!store.isExclusive) {
    return isNew ? "created its tables at database_url" : "database at database_url";
  }
  const { dataDirectory } = settings;
  return isNew ? `created the data folder ${dataDirectory}` : `data folder ${dataDirectory}`;
}
