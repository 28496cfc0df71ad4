/** The steps of `countersign init`. Each reads from the server what is already done. */

import type { Terminal } from "@countersign/command-line";
import { Problem } from "@countersign/protocol";
import { ApprovalClient, type ApprovalRequest } from "@countersign/sdk";
import {
  makeSetupLink,
  needsSetup,
  type OpenedContext,
  publishFirstPolicy,
  readActivePolicyNumber,
} from "@countersign/server";
import {
  type AgentDirectory,
  type CreatedAgent,
  inDatabase,
  type ListedAgent,
  PROJECT_DEFAULT,
} from "./agent-directory.ts";
import { linkTo } from "./commands/people-links.ts";
import { exportLines } from "./connect-agent.ts";
import { canOpenBrowser, openBrowser } from "./open-browser.ts";
import { ownCommand } from "./own-command.ts";
import { askText, choose, confirm, waitUnlessEnter } from "./questions.ts";
import type { Addresses } from "./running-server.ts";
import { fillGroups } from "./starter-groups.ts";
import {
  ASK_ALWAYS,
  readStarterPolicy,
  STARTER_POLICIES,
  type StarterPolicy,
} from "./starter-policies.ts";
import { visibleText } from "./visible-text.ts";

export interface Setup {
  readonly context: OpenedContext["context"];
  readonly addresses: Addresses;
  readonly terminal: Terminal;
  /** Whether the user answers questions. Otherwise the defaults apply. */
  readonly asks: boolean;
  /** The option that names the data folder in recommended commands, after a space. */
  readonly dataFlag: string;
  /** Prints for the user. Does nothing for `--json`. */
  readonly note: (text: string) => void;
}

const AGENT_DEFAULT = "my-agent";

/** @returns the setup link, if an operator is still missing */
export async function addOperator(
  { context, addresses, terminal, asks, note }: Setup,
  useBrowser: boolean,
): Promise<string | undefined> {
  note("\nStep 1 of 4: the first operator");
  if (!(await needsSetup(context))) {
    note("  Done: an account exists.");
    return undefined;
  }
  const token = await makeSetupLink(context, PROJECT_DEFAULT);
  const link = linkTo(addresses.publicUrl, "setup", token);
  note("  Open this link to create your account. It works once, within 24 hours.");
  note("  It replaces any setup link that was printed before.\n");
  note(`  ${link}\n`);
  if (!asks) return link;
  if (useBrowser && canOpenBrowser(process.env)) {
    if (await confirm(terminal, "Open it in your browser now?", true)) openBrowser(link);
  }
  const prompt = "Waiting for your account. Press Enter to continue without it. ";
  const isDone = await waitUnlessEnter(terminal, prompt, async () => {
    return (await needsSetup(context)) ? undefined : true;
  });
  if (isDone) {
    note("  Your account exists.");
    return undefined;
  }
  note("  Skipped. The link still works.");
  return link;
}

export interface ChosenPolicy {
  readonly policy: StarterPolicy;
  /** Why init does not publish it. Undefined: init publishes it. */
  readonly obstacle: string | undefined;
}

/**
 * @param given the policy of the command line
 * @param setupLink undefined when an account exists
 * @returns undefined when a policy is active
 */
export async function choosePolicy(
  setup: Setup,
  given: string | undefined,
  setupLink: string | undefined,
): Promise<ChosenPolicy | undefined> {
  const { context, terminal, asks, note } = setup;
  note("\nStep 2 of 4: the policy");
  const number = await readActivePolicyNumber(context, PROJECT_DEFAULT);
  if (number > 0) {
    note(`  Done: version ${number} is active.`);
    if (given !== undefined)
      note("  init publishes the first version only, so it ignores --policy.");
    return undefined;
  }
  let policy = STARTER_POLICIES.find(({ name }) => name === given);
  if (policy === undefined && asks) {
    const options = STARTER_POLICIES.map(({ name, description }) => `${name}: ${description}`);
    const question = "Which policy do you want to start with? Later, you can change every rule.";
    policy = STARTER_POLICIES[await choose(terminal, question, options)];
  }
  policy ??= ASK_ALWAYS;
  return { policy, obstacle: await joinGroups(setup, policy, setupLink) };
}

/** @returns why the policy has groups that no reviewer is in; undefined if each has one */
async function joinGroups(
  { context, addresses, note, dataFlag }: Setup,
  { name: policyName, reviewerGroups }: StarterPolicy,
  setupLink: string | undefined,
): Promise<string | undefined> {
  if (reviewerGroups.length === 0) return undefined;
  const { missing, joined, deciders } = await fillGroups(context, reviewerGroups);
  if (missing.length === 0) return undefined;
  const groups = missing.join(",");
  if (joined !== undefined) {
    note(`  ${visibleText(joined)} joined the groups ${groups}, which decide by this policy.`);
    note("  Some of its rules need two reviewers. Invite another one:");
    note(`    ${addresses.publicUrl}/settings/people`);
    return undefined;
  }
  const command = ownCommand(process.env);
  const role = deciders === 0 ? " --role reviewer" : "";
  const set = `${command} reviewers set NAME${role} --groups ${groups}${dataFlag}`;
  const first =
    setupLink !== undefined && deciders === 0
      ? `Create your account: ${setupLink}`
      : `Choose a reviewer. This command replaces the groups of the reviewer NAME: ${set}`;
  const obstacle = [
    `The policy ${policyName} is not published: no reviewer is in the groups ${groups}.`,
    first,
    `Then run: ${command} init --yes --policy ${policyName}${dataFlag}`,
  ].join("\n");
  note(`  The policy ${policyName} is not published yet: no reviewer is in the groups ${groups}.`);
  return obstacle;
}

/** @returns why the policy is not published; undefined if it is */
export async function publishPolicy(
  setup: Setup,
  { policy: { name, agentGroup }, obstacle }: ChosenPolicy,
): Promise<string | undefined> {
  const { context, addresses, note, dataFlag } = setup;
  if (obstacle !== undefined) return obstacle;
  const page = `${addresses.publicUrl}/policies`;
  if (name === ASK_ALWAYS.name) {
    note(`\n  A reviewer decides every call. Add rules at ${page}`);
    return undefined;
  }
  const { agents } = await directoryOf(setup).list().catch(noProject);
  if (agentGroup !== undefined && !agents.some(({ groups }) => groups.includes(agentGroup))) {
    const init = `${ownCommand(process.env)} init`;
    const command = `${init} --yes --policy ${name} --agent NAME${dataFlag}`;
    return [
      `The policy ${name} is not published: no agent is in the group ${agentGroup}.`,
      `To create an agent NAME in this group and publish the policy, run: ${command}`,
    ].join("\n");
  }
  await publishFirstPolicy(context, PROJECT_DEFAULT, readStarterPolicy(name));
  note(`\n  Published the policy ${name}. Its comments say what to adapt: ${page}`);
  return undefined;
}

function directoryOf({ context, addresses }: Setup): AgentDirectory {
  return inDatabase({ context }, PROJECT_DEFAULT, async () => ({ ...addresses, isServed: true }));
}

/**
 * @param given the name of the command line
 * @returns undefined when the user creates none
 */
export async function addAgent(
  setup: Setup,
  given: string | undefined,
  groups: readonly string[],
): Promise<CreatedAgent | undefined> {
  const { terminal, asks, note } = setup;
  note("\nStep 3 of 4: an agent");
  const directory = directoryOf(setup);
  const { agents } = await directory.list().catch(noProject);
  const fault = (name: string) => {
    const isTaken = agents.some((agent) => agent.name === name);
    return isTaken
      ? `  An agent is named ${JSON.stringify(name)}. Choose another name.`
      : undefined;
  };
  const [first] = agents;
  if (first !== undefined && given === undefined) {
    note(`  Done: the agent ${visibleText(first.name)} exists. Its key is not stored.`);
    const question = "Create another agent, with a new key?";
    if (!asks || !(await confirm(terminal, question, false))) return undefined;
  }
  const byDefault = given ?? freeName(agents);
  const isAsked = asks && given === undefined;
  const name = isAsked
    ? await askText(terminal, "Name of the agent:", byDefault, fault)
    : byDefault;
  const message = fault(name);
  if (message !== undefined) {
    note(message);
    return undefined;
  }
  const agent = await directory.create({ name, groups, owner: null });
  note(`  Created ${visibleText(name)}. Set both variables where the agent runs.`);
  note("  The key is displayed once:\n");
  return agent;
}

/** The project is created with the first account, policy or agent. */
function noProject(error: unknown): { readonly agents: readonly ListedAgent[] } {
  if (error instanceof Problem && error.code === "not_found") return { agents: [] };
  throw error;
}

function freeName(agents: readonly ListedAgent[]): string {
  const names = new Set(agents.map(({ name }) => name));
  for (let number = 1; ; number++) {
    const name = number === 1 ? AGENT_DEFAULT : `${AGENT_DEFAULT}-${number}`;
    if (!names.has(name)) return name;
  }
}

export function printAgent(terminal: Terminal, agent: CreatedAgent): void {
  terminal.out(exportLines(agent));
}

const TEST_CALL = {
  tool: "countersign.test",
  arguments: { message: "Hello from countersign init" },
  timeout: "10m",
  reasoning: "A test request. Approving or denying it runs nothing.",
} as const;

/** How long the server holds one read. */
const HOLD = "20s";

/** @returns the status of the test request */
export async function sendTest(
  { addresses, terminal, asks, note }: Setup,
  { key, url }: CreatedAgent,
  setupLink: string | undefined,
): Promise<ApprovalRequest["status"]> {
  note("\nStep 4 of 4: a test request");
  const client = new ApprovalClient({ url, apiKey: key });
  const request = await client.create({ idempotencyKey: crypto.randomUUID(), ...TEST_CALL });
  if (setupLink !== undefined) note(`  To decide it, create your account first: ${setupLink}`);
  note(`  Approve or deny it in the inbox: ${addresses.publicUrl}/inbox/${request.id}`);
  const poll = async (signal?: AbortSignal) => {
    const read = await client.read(request, { wait: HOLD, signal });
    return read.status === "pending" ? undefined : read;
  };
  const prompt = "Waiting for your decision. Press Enter to continue without it. ";
  const decided = asks
    ? await waitUnlessEnter(terminal, prompt, poll)
    : await pollUntilDecided(poll);
  if (decided === undefined) {
    note("  Skipped. The request stays in the inbox for 10 minutes.");
    return "pending";
  }
  note(`  ${describe(decided)}`);
  return decided.status;
}

async function pollUntilDecided(
  poll: () => Promise<ApprovalRequest | undefined>,
): Promise<ApprovalRequest> {
  for (;;) {
    const decided = await poll();
    if (decided !== undefined) return decided;
  }
}

function describe({ status, decision }: ApprovalRequest): string {
  const note = decision?.note === undefined ? "" : ` Note: ${visibleText(decision.note)}`;
  if (status === "approved") return `Approved. An agent would now run the call.${note}`;
  if (status === "denied") return `Denied. An agent would not run the call.${note}`;
  return `The request is ${status}. An agent would not run the call.${note}`;
}
