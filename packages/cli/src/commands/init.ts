/** The command that leads from a new server to a first decision. */

import { resolve } from "node:path";
import {
  CommandError,
  EXIT,
  type ExitCode,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import {
  type OpenedContext,
  openKnownContext,
  type Provider,
  toSecrets,
  toSettings,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { snippets } from "../connect-agent.ts";
import {
  addAgent,
  addOperator,
  choosePolicy,
  printAgent,
  publishPolicy,
  type Setup,
  sendTest,
} from "../init-steps.ts";
import { dataOption, ownCommand } from "../own-command.ts";
import { confirm } from "../questions.ts";
import {
  type Addresses,
  addressesOf,
  findRunningServer,
  isCountersign,
} from "../running-server.ts";
import type { SettingsLine } from "../settings-line.ts";
import { STARTER_POLICIES } from "../starter-policies.ts";
import { reportFor, start, stopSignal } from "./serve.ts";

const POLICY_NAMES = STARTER_POLICIES.map(({ name }) => name);

export const init: Command = {
  usage: "init",
  help: "Set up a server: account, policy, agent, test request.",
  example: "init --yes --policy coding-agent --agent my-laptop",
  settings: ["server"],
  options: {
    yes: { type: "flag", help: "Use the default answers. Do not ask or wait." },
    policy: {
      type: "text",
      value: "NAME",
      help: `Policy to start with: ${POLICY_NAMES.join(", ")}. [${POLICY_NAMES[0]}]`,
    },
    agent: { type: "text", value: "NAME", help: "Name of the agent to create. [my-agent]" },
    "no-browser": { type: "flag", help: "Never open a browser." },
    test: { type: "flag", help: "With --yes: send the test request and wait for the decision." },
  },

  async run(line, terminal) {
    line.take();
    assertAnswers(line, terminal);
    const server = await findOrStart(line, terminal);
    if (server === undefined) return EXIT.refused;
    try {
      const isComplete = await walk(line, terminal, server);
      const code = await server.finish();
      return isComplete ? code : EXIT.refused;
    } catch (error) {
      await server.close();
      if (!isInterrupt(error)) throw error;
      terminal.note(`Stopped. Completed steps are kept. To continue: ${commandOf(line)}`);
      return EXIT.refused;
    }
  },
};

/** @throws CommandError when a question could not be answered */
function assertAnswers(line: SettingsLine, terminal: Terminal): void {
  const policy = line.text("policy");
  if (policy !== undefined && !POLICY_NAMES.includes(policy)) {
    throw usageError(`--policy must be one of ${POLICY_NAMES.join(", ")}`);
  }
  if (line.text("agent") === "") throw usageError("--agent must not be empty");
  if (line.json && !line.flag("yes")) throw usageError("--json needs --yes");
  if (terminal.isInteractive || line.flag("yes")) return;
  throw usageError(
    "init asks questions and needs a terminal; without one, give --yes, and --policy NAME and " +
      "--agent NAME for other answers than the defaults",
  );
}

/** Ctrl-C or Ctrl-D in a question. */
function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

function commandOf(line: SettingsLine): string {
  return `${ownCommand(process.env)} init${dataOption(line.config().data)}`;
}

interface ServerToSetUp {
  readonly context: OpenedContext["context"];
  readonly addresses: Addresses;
  close(): Promise<void>;
  /** After the last step. A server of this process serves until it is stopped. */
  finish(): Promise<ExitCode>;
}

/** @returns undefined when no server runs and the user starts none */
async function findOrStart(
  line: SettingsLine,
  terminal: Terminal,
): Promise<ServerToSetUp | undefined> {
  const config = line.config();
  const settings = toSettings(config);
  const secrets = toSecrets(config);
  const isFolder = config.database_url === undefined;
  const addresses = isFolder ? await findRunningServer(config.data) : await atSettings(settings);
  if (addresses !== undefined) {
    const { context, close } = await openKnownContext(settings, secrets);
    const finish = async () => {
      await close();
      return EXIT.done;
    };
    if (!line.json) terminal.note(`Setting up the server at ${addresses.url}.`);
    return { context, addresses, close, finish };
  }
  const place = isFolder ? `the data folder ${resolve(config.data)}` : "database_url";
  const message = `no server is running on ${place}`;
  if (line.json) {
    const command = `${ownCommand(process.env)}${dataOption(config.data)}`;
    throw new CommandError(EXIT.refused, "no_server", `${message}; start it with: ${command}`);
  }
  if (!line.flag("yes")) {
    terminal.note(`${message.replace("no", "No")}.`);
    if (!(await confirm(terminal, "Start one now, in this terminal?", true))) {
      terminal.note(`Start it in another terminal, then run: ${commandOf(line)}`);
      return undefined;
    }
  }
  const stopped = stopSignal();
  const provider = await start(settings, secrets, { report: reportFor(terminal, settings) });
  terminal.note(`Started the server at ${provider.url}.`);
  return { ...partsOf(provider), finish: () => serveOn(provider, stopped, terminal) };
}

async function atSettings(settings: ReturnType<typeof toSettings>): Promise<Addresses | undefined> {
  const addresses = addressesOf(settings);
  return (await isCountersign(addresses.url)) ? addresses : undefined;
}

function partsOf(provider: Provider): Omit<ServerToSetUp, "finish"> {
  const { context, url, publicUrl, contractUrl } = provider;
  return { context, addresses: { url, publicUrl, contractUrl }, close: () => provider.close() };
}

async function serveOn(
  provider: Provider,
  stopped: Promise<string>,
  terminal: Terminal,
): Promise<ExitCode> {
  terminal.note("The server runs in this terminal. Press Ctrl-C to stop it.");
  const end = await Promise.race([stopped, provider.closed]);
  if (end instanceof Error) throw end;
  await provider.close();
  return EXIT.done;
}

/** @returns whether the chosen policy is active or was published */
async function walk(
  line: SettingsLine,
  terminal: Terminal,
  { context, addresses }: ServerToSetUp,
): Promise<boolean> {
  const asks = !line.flag("yes");
  const note = (text: string) => (line.json ? undefined : terminal.note(text));
  const dataFlag = dataOption(line.config().data);
  const setup: Setup = { context, addresses, terminal, asks, dataFlag, note };
  const setupLink = await addOperator(setup, !line.flag("no-browser"));
  const chosen = await choosePolicy(setup, line.text("policy"), setupLink);
  const groups = chosen?.policy.agentGroup === undefined ? [] : [chosen.policy.agentGroup];
  const agent = await addAgent(setup, line.text("agent"), groups);
  if (agent !== undefined && !line.json) printAgent(terminal, agent);
  const obstacle = chosen === undefined ? undefined : await publishPolicy(setup, chosen);
  if (agent !== undefined) note("");
  const wantsTest =
    agent !== undefined &&
    (asks
      ? await confirm(terminal, "Send a test request as this agent?", true)
      : line.flag("test"));
  const test = wantsTest ? await sendTest(setup, agent, setupLink) : undefined;
  if (line.json) {
    const result = {
      url: addresses.contractUrl,
      setup_url: setupLink,
      policy: obstacle === undefined ? chosen?.policy.name : undefined,
      policy_not_published: obstacle,
      agent: agent && { id: agent.id, name: agent.name, key: agent.key },
      test,
    };
    terminal.out(JSON.stringify(result));
    return obstacle === undefined;
  }
  if (agent !== undefined) note(`Connect the agent:\n\n${snippets(agent.url)}`);
  note(`\nInbox: ${addresses.publicUrl}/inbox`);
  if (obstacle === undefined) {
    note("The server is set up.");
    return true;
  }
  note("The setup is not complete: no policy is active, so a reviewer decides every call.");
  note(obstacle);
  return false;
}
