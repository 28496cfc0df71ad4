/**
 * The command `countersign`. The commands of the hooks, the MCP gateway and the conformance kit are
 * those of their own packages, which also run without this one.
 */

import { COMMANDS as HOOK_COMMANDS } from "@countersign/agent-hooks/commands";
import {
  CommandError,
  CommandLine,
  EXIT,
  type ExitCode,
  type Command as PlainCommand,
  runProgram,
  type Terminal,
} from "@countersign/command-line";
import { Problem } from "@countersign/protocol";
import { ConfigError } from "@countersign/server/config/read-config";
import { Failure, Misconfigured } from "@countersign/server/failure";
import type { Command } from "./command.ts";
import { ownCommand } from "./own-command.ts";
import { SettingsLine, settingsHelp } from "./settings-line.ts";
import { VERSION } from "./version.ts";

/** Each loads when it is called: `requests list` does not load the server. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command | PlainCommand>>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
  init: async () => (await import("./commands/init.ts")).init,
  "agents create": async () => (await import("./commands/agents.ts")).agentsCreate,
  "agents list": async () => (await import("./commands/agents.ts")).agentsList,
  "agents show": async () => (await import("./commands/agents-show.ts")).agentsShow,
  "agents set": async () => (await import("./commands/agents-set.ts")).agentsSet,
  "agents delete": async () => (await import("./commands/agents.ts")).agentsDelete,
  "tokens create": async () => (await import("./commands/tokens.ts")).tokensCreate,
  "tokens list": async () => (await import("./commands/tokens.ts")).tokensList,
  "tokens revoke": async () => (await import("./commands/tokens.ts")).tokensRevoke,
  "reviewers list": async () => (await import("./commands/reviewers.ts")).reviewersList,
  "reviewers set": async () => (await import("./commands/reviewers.ts")).reviewersSet,
  "reviewers remove": async () => (await import("./commands/reviewers.ts")).reviewersRemove,
  "people list": async () => (await import("./commands/people.ts")).peopleList,
  "people disable": async () => (await import("./commands/people.ts")).peopleDisable,
  "people enable": async () => (await import("./commands/people.ts")).peopleEnable,
  "people link": async () => (await import("./commands/people-link.ts")).peopleLink,
  "people setup-link": async () => (await import("./commands/people-links.ts")).peopleSetupLink,
  "people recovery-link": async () =>
    (await import("./commands/people-links.ts")).peopleRecoveryLink,
  "invitations create": async () => (await import("./commands/invitations.ts")).invitationsCreate,
  "invitations list": async () => (await import("./commands/invitations.ts")).invitationsList,
  "invitations revoke": async () => (await import("./commands/invitations.ts")).invitationsRevoke,
  "requests list": async () => (await import("./commands/requests.ts")).requestsList,
  "requests show": async () => (await import("./commands/requests.ts")).requestsShow,
  "requests search": async () => (await import("./commands/requests-search.ts")).requestsSearch,
  "requests approve": async () => (await import("./commands/requests.ts")).requestsApprove,
  "requests deny": async () => (await import("./commands/requests.ts")).requestsDeny,
  "requests withdraw": async () => (await import("./commands/requests.ts")).requestsWithdraw,
  "requests claim": async () => (await import("./commands/requests.ts")).requestsClaim,
  "requests hand-over": async () => (await import("./commands/requests.ts")).requestsHandOver,
  "requests release": async () => (await import("./commands/requests.ts")).requestsRelease,
  "requests comments": async () =>
    (await import("./commands/request-comments.ts")).requestsComments,
  "requests comment": async () => (await import("./commands/request-comments.ts")).requestsComment,
  "requests watch": async () => (await import("./commands/watch.ts")).requestsWatch,
  "deliveries list": async () => (await import("./commands/deliveries.ts")).deliveriesList,
  "deliveries show": async () => (await import("./commands/deliveries.ts")).deliveriesShow,
  "deliveries retry-now": async () => (await import("./commands/deliveries.ts")).deliveriesRetryNow,
  "policy check": async () => (await import("./commands/policy-check.ts")).policyCheck,
  "policy test": async () => (await import("./commands/policy-check.ts")).policyTest,
  "policy show": async () => (await import("./commands/policy-versions.ts")).policyShow,
  "policy history": async () => (await import("./commands/policy-versions.ts")).policyHistory,
  "policy publish": async () => (await import("./commands/policy-publish.ts")).policyPublish,
  "policy rollback": async () => (await import("./commands/policy-publish.ts")).policyRollback,
  "policy propose": async () => (await import("./commands/policy-proposals.ts")).policyPropose,
  "policy proposals": async () => (await import("./commands/policy-proposals.ts")).policyProposals,
  "policy proposal": async () => (await import("./commands/policy-proposals.ts")).policyProposal,
  "policy reject": async () => (await import("./commands/policy-proposals.ts")).policyReject,
  "policy release": async () => (await import("./commands/policy-release.ts")).policyRelease,
  "policy simulate": async () => (await import("./commands/policy-simulate.ts")).policySimulate,
  freeze: async () => (await import("./commands/freezes.ts")).freeze,
  unfreeze: async () => (await import("./commands/freezes.ts")).unfreeze,
  "freezes list": async () => (await import("./commands/freezes.ts")).freezesList,
  "grants list": async () => (await import("./commands/grants.ts")).grantsList,
  "grants create": async () => (await import("./commands/grants.ts")).grantsCreate,
  "grants show": async () => (await import("./commands/grants.ts")).grantsShow,
  "grants revoke": async () => (await import("./commands/grants.ts")).grantsRevoke,
  "channels create": async () => (await import("./commands/channels.ts")).channelsCreate,
  "channels list": async () => (await import("./commands/channels.ts")).channelsList,
  "channels test": async () => (await import("./commands/channels.ts")).channelsTest,
  "channels disable": async () => (await import("./commands/channels.ts")).channelsDisable,
  "channels enable": async () => (await import("./commands/channels.ts")).channelsEnable,
  "channels delete": async () => (await import("./commands/channels.ts")).channelsDelete,
  "chat-links list": async () => (await import("./commands/chat-links.ts")).chatLinksList,
  "chat-links delete": async () => (await import("./commands/chat-links.ts")).chatLinksDelete,
  "away list": async () => (await import("./commands/absences.ts")).awayList,
  "away set": async () => (await import("./commands/absences.ts")).awaySet,
  "away end": async () => (await import("./commands/absences.ts")).awayEnd,
  "oncall list": async () => (await import("./commands/oncall.ts")).oncallList,
  "oncall set": async () => (await import("./commands/oncall.ts")).oncallSet,
  "oncall delete": async () => (await import("./commands/oncall.ts")).oncallDelete,
  plan: async () => (await import("./commands/plan.ts")).plan,
  apply: async () => (await import("./commands/apply.ts")).apply,
  export: async () => (await import("./commands/export.ts")).exportCommand,
  "secret-key show": async () => (await import("./commands/secret-key.ts")).secretKeyShow,
  "secret-key rotate": async () => (await import("./commands/secret-key.ts")).secretKeyRotate,
  "audit verify": async () => (await import("./commands/audit-verify.ts")).auditVerify,
  "audit archive": async () => (await import("./commands/audit-archive.ts")).auditArchive,
  "audit export": async () => (await import("./commands/audit.ts")).auditExport,
  "audit checkpoint": async () => (await import("./commands/audit.ts")).auditCheckpoint,
  "audit key": async () => (await import("./commands/audit.ts")).auditKey,
  "audit prove": async () => (await import("./commands/audit.ts")).auditProve,
  migrate: async () => (await import("./commands/migrate.ts")).migrate,
  import: async () => (await import("./commands/import.ts")).importCommand,
  backup: async () => (await import("./commands/backup.ts")).backup,
  compact: async () => (await import("./commands/compact.ts")).compact,
  conformance: async () => {
    return named("conformance", (await import("@countersign/conformance/command")).conformance);
  },
  "mcp-gateway": async () => {
    return named("mcp-gateway", (await import("@countersign/mcp-gateway/command")).mcpGateway);
  },
  ...HOOK_COMMANDS,
};

/** The contract calls an agent's identity an instance. */
const ALIASES = { instances: "agents", "agents revoke": "agents delete" };

/** The only command of another program, as a command of this one. */
function named(name: string, command: PlainCommand): PlainCommand {
  const { usage, example } = command;
  const named = { ...command, usage: `${name} ${usage}` };
  return example === undefined ? named : { ...named, example: `${name} ${example}` };
}

const SETTINGS_NOTES = `
Without a command, countersign runs serve. Every setting can also be an
environment variable (--port is COUNTERSIGN_PORT) or be in a YAML file (--config FILE).`;

export function main(args: readonly string[], terminal?: Terminal): Promise<ExitCode> {
  const program = {
    name: "countersign",
    version: VERSION,
    summary: "the approval provider for AI agents' tool calls",
    commands: COMMANDS,
    aliases: ALIASES,
    fallback: "serve",
    notes: SETTINGS_NOTES,
    read,
    moreHelp,
    explain: (error: unknown) => explain(error, args),
  };
  return runProgram<PlainCommand>(program, args, terminal);
}

function read(command: PlainCommand, args: readonly string[]): CommandLine {
  if (!takesSettings(command)) return new CommandLine(args, command.options);
  return new SettingsLine(args, command.options, command.settings);
}

function moreHelp(command: PlainCommand): readonly string[] {
  return takesSettings(command) ? settingsHelp(command.settings, command.options) : [];
}

function takesSettings(command: PlainCommand): command is Command {
  return "settings" in command;
}

/** The server's message, which is about its paths. */
const NOT_FOUND = new Problem("not_found").message;

const NOT_FOUND_HERE = "not found, or you do not have access";

/** The lists of commands that have no `list` in their own family. */
const LISTS: Readonly<Record<string, string>> = {
  instances: "agents list",
  unfreeze: "freezes list",
  policy: "policy history",
  "policy proposal": "policy proposals",
  "policy publish": "policy proposals",
  "policy reject": "policy proposals",
};

/** @param args of the program, which start with the words of the command */
function adviceFor([first = "", second = ""]: readonly string[]): string {
  const list = LISTS[`${first} ${second}`] ?? LISTS[first] ?? `${first} list`;
  if (!Object.hasOwn(COMMANDS, list)) return "";
  return `; run ${ownCommand(process.env)} ${list} to see what exists`;
}

function explain(error: unknown, args: readonly string[]): CommandError | undefined {
  if (error instanceof ConfigError) return new CommandError(EXIT.usage, "config", error.message);
  if (error instanceof Failure) {
    const exitCode = error instanceof Misconfigured ? EXIT.usage : EXIT.refused;
    return new CommandError(exitCode, error.dependency, withCause(error));
  }
  if (error instanceof CommandError && error.message === NOT_FOUND) {
    const message = `${NOT_FOUND_HERE}${adviceFor(args)}, and check --url`;
    return new CommandError(error.exitCode, error.code, message, error.findings);
  }
  if (error instanceof Problem && error.message === NOT_FOUND) {
    return new CommandError(EXIT.refused, error.code, `${NOT_FOUND_HERE}${adviceFor(args)}`);
  }
  return undefined;
}

/** The message with its cause, unless it already includes it. */
function withCause({ message, cause }: Error): string {
  if (!(cause instanceof Error) || message.includes(innermost(cause))) return message;
  return `${message}: ${withCause(cause)}`;
}

function innermost({ message, cause }: Error): string {
  return (cause instanceof Error && innermost(cause)) || message;
}
