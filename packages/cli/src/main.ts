/**
 * The command `countersign`: finds the command, reads its options, runs it, and turns whatever
 * goes wrong into one clear line and an exit code.
 */

import { Problem } from "@countersign/protocol";
import { ConfigError } from "@countersign/server/config/read-config";
import { Failure, Misconfigured } from "@countersign/server/failure";
import type { Command } from "./command.ts";
import { CommandLine } from "./command-line.ts";
import { CommandError, EXIT, type ExitCode, usageError } from "./exit.ts";
import { commandHelp, overview } from "./help.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { visibleText } from "./visible-text.ts";

/** Loaded when asked for: whoever lists requests does not wait for the server's code. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
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
  "requests approve": async () => (await import("./commands/requests.ts")).requestsApprove,
  "requests deny": async () => (await import("./commands/requests.ts")).requestsDeny,
  "requests withdraw": async () => (await import("./commands/requests.ts")).requestsWithdraw,
  "requests watch": async () => (await import("./commands/watch.ts")).requestsWatch,
  "instances list": async () => (await import("./commands/instances.ts")).instancesList,
  "instances set": async () => (await import("./commands/instances.ts")).instancesSet,
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
  "secret-key show": async () => (await import("./commands/secret-key.ts")).secretKeyShow,
  "secret-key rotate": async () => (await import("./commands/secret-key.ts")).secretKeyRotate,
  "audit verify": async () => (await import("./commands/audit-verify.ts")).auditVerify,
  "audit export": async () => (await import("./commands/audit.ts")).auditExport,
  "audit checkpoint": async () => (await import("./commands/audit.ts")).auditCheckpoint,
  "audit key": async () => (await import("./commands/audit.ts")).auditKey,
  "audit prove": async () => (await import("./commands/audit.ts")).auditProve,
  conformance: async () => (await import("./commands/conformance.ts")).conformance,
  "mcp-gateway": async () => (await import("./commands/mcp-gateway.ts")).mcpGateway,
  migrate: async () => (await import("./commands/migrate.ts")).migrate,
  import: async () => (await import("./commands/import.ts")).importCommand,
  backup: async () => (await import("./commands/backup.ts")).backup,
  hook: async () => (await import("./commands/hook.ts")).hook,
  install: async () => (await import("./commands/install.ts")).installCommand,
  uninstall: async () => (await import("./commands/uninstall.ts")).uninstallCommand,
  status: async () => (await import("./commands/status.ts")).status,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
};

/** The server's words, which are about its addresses. */
const NOT_FOUND = new Problem("not_found").message;

const NOTHING_SUCH = "nothing has this id or name, or it is not yours to see; look it up by list";

/** @returns the exit code */
export async function main(args: readonly string[], terminal = processTerminal): Promise<ExitCode> {
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    const failure = toCommandError(error);
    const { code, findings } = failure;
    const message = failure.message === NOT_FOUND ? NOTHING_SUCH : failure.message;
    terminal.note(
      ownWords(args).includes("--json")
        ? JSON.stringify({ error: { code, message, findings } })
        : message
            .split("\n")
            .map((line) => `countersign: ${visibleText(line)}`)
            .join("\n"),
    );
    return failure.exitCode;
  }
}

async function dispatch(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first = "--help", second = ""] = args;
  if (isHelp(first) || first === "help") {
    terminal.out(overview(await family("")));
    return EXIT.done;
  }
  if (first === "--version") {
    const { version } = await import("./commands/serve.ts");
    terminal.out(version());
    return EXIT.done;
  }
  const name = Object.hasOwn(COMMANDS, first) ? first : `${first} ${second}`;
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const commands = isHelp(second) ? await family(`${first} `) : [];
    if (commands.length === 0) throw unknownCommand(first, second);
    terminal.out(overview(commands));
    return EXIT.done;
  }
  const command = await load();
  const rest = args.slice(name.split(" ").length);
  if (ownWords(rest).some(isHelp)) {
    terminal.out(commandHelp(command));
    return EXIT.done;
  }
  return command.run(new CommandLine(rest, command.options, command.settings), terminal);
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** Without what stands behind `--`: it is for another program. */
function ownWords(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/** The commands whose names begin so. */
function family(beginning: string): Promise<Command[]> {
  const entries = Object.entries(COMMANDS).filter(([name]) => name.startsWith(beginning));
  return Promise.all(entries.map(([, load]) => load()));
}

function unknownCommand(first: string, second: string): CommandError {
  const names = Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `));
  if (names.length === 0) {
    return usageError(`there is no command ${JSON.stringify(first)}; see countersign --help`);
  }
  const known = names.map((name) => name.split(" ")[1]).join(", ");
  const given = second === "" || second.startsWith("-") ? "" : `, not ${JSON.stringify(second)}`;
  return usageError(`${first} takes one of ${known}${given}`);
}

function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof ConfigError) return new CommandError(EXIT.usage, "config", error.message);
  if (error instanceof Problem) return new CommandError(EXIT.refused, error.code, error.message);
  if (error instanceof Failure) {
    const exitCode = error instanceof Misconfigured ? EXIT.usage : EXIT.refused;
    return new CommandError(exitCode, error.dependency, explain(error));
  }
  if (error instanceof Error && "code" in error) {
    return new CommandError(EXIT.refused, String(error.code), error.message);
  }
  throw error;
}

/** The message with what caused it, as far as it does not say so itself. */
function explain({ message, cause }: Error): string {
  if (!(cause instanceof Error) || message.includes(firstCause(cause))) return message;
  return `${message}: ${explain(cause)}`;
}

/** The innermost that says anything. */
function firstCause({ message, cause }: Error): string {
  return (cause instanceof Error && firstCause(cause)) || message;
}
