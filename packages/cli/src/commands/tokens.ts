import { renderColumns, usageError } from "@countersign/command-line";
import { formatTimestamp, parseDuration, parseIdentifier } from "@countersign/protocol";
import {
  createToken,
  type ListedToken,
  listTokens,
  revokeToken,
  scopesFault,
  systemClock,
  type TokenOrder,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { groupsOf, namesOf } from "../name-list.ts";
import { ROLE_AND_GROUPS, roleOf } from "../reviewer-options.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const tokensCreate: Command = {
  usage: "tokens create provisioner|reviewer",
  help: "Make a token and print it, once. A known name gets one more token, for rotation.",
  settings: ["server"],
  options: {
    name: { type: "text", value: "NAME", help: "Whose token it is. Required." },
    project: { type: "text", value: "PROJECT", help: "Its scope, made if new. [default]" },
    ...ROLE_AND_GROUPS,
    bot: { type: "flag", help: "A new reviewer is a bot: its approvals count where rules say so." },
    scopes: {
      type: "text",
      value: "A,B",
      help: "Of a reviewer: all that it may do, of read, decide, decide:GROUP and others.",
    },
    "expires-in": { type: "text", value: "DURATION", help: "Like 720h; never if not given." },
  },

  async run(line, terminal) {
    const [kind] = line.take("provisioner or reviewer");
    if (kind !== "provisioner" && kind !== "reviewer") {
      throw usageError("a token is for a provisioner or a reviewer");
    }
    const name = line.text("name");
    if (!name) throw usageError("--name is missing");
    const project = line.text("project") ?? "default";
    if (project === "") throw usageError("--project must not be empty");
    const role = roleOf(line);
    const groups = groupsOf(line);
    const scopes = namesOf(line, "scopes");
    const isBot = line.flag("bot");
    const isOfReviewer = isBot || [role, groups, scopes].some((each) => each !== undefined);
    if (kind !== "reviewer" && isOfReviewer) {
      throw usageError("--role, --groups, --bot and --scopes belong to reviewers");
    }
    const fault = scopes && scopesFault(scopes);
    if (fault !== undefined) throw usageError(`--scopes ${fault}`);
    const expiresAt = expiryOf(line);
    return withKnownData(line, async ({ context }) => {
      const order: TokenOrder = { kind, name, project, role, groups, isBot, scopes, expiresAt };
      const issued = await createToken(context, order);
      terminal.out(line.json ? JSON.stringify(issued) : issued.token);
    });
  },
};

export const tokensList: Command = {
  usage: "tokens list",
  help: "List tokens with their ids; the tokens themselves are not stored.",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const tokens = await listTokens(context);
      if (line.json) terminal.out(JSON.stringify(tokens.map(toJson)));
      else terminal.out(tokens.length === 0 ? "There are no tokens." : table(tokens));
    });
  },
};

export const tokensRevoke: Command = {
  usage: "tokens revoke ID",
  help: "End a token at once.",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    const [text = ""] = line.take("the id of the token");
    const id = parseIdentifier(text);
    if (id === undefined) throw usageError("the id is not one that tokens list shows");
    return withKnownData(line, async ({ context }) => {
      await revokeToken(context, id);
      terminal.out(line.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    });
  },
};

function expiryOf(line: SettingsLine): number | null {
  const text = line.text("expires-in");
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms === undefined || ms > Number.MAX_SAFE_INTEGER / 4) {
    throw usageError("--expires-in is a duration like 720h");
  }
  return systemClock.now() + ms;
}

function toJson(token: ListedToken): object {
  const { id, kind, name, project, role, isBot, scopes, createdAt, expiresAt, revokedAt } = token;
  return {
    id,
    kind,
    name,
    project,
    ...(role !== null && { role }),
    ...(isBot && { bot: true }),
    ...(scopes !== null && { scopes }),
    created_at: formatTimestamp(createdAt),
    ...(expiresAt !== null && { expires_at: formatTimestamp(expiresAt) }),
    ...(revokedAt !== null && { revoked_at: formatTimestamp(revokedAt) }),
  };
}

function table(tokens: readonly ListedToken[]): string {
  const now = systemClock.now();
  const isScoped = tokens.some(({ scopes }) => scopes !== null);
  const rows = tokens.map((token) => [
    token.id,
    kindOf(token),
    visibleText(token.name),
    visibleText(token.project),
    stateOf(token.expiresAt, token.revokedAt, now),
    ...(isScoped ? [token.scopes === null ? "-" : visibleText(token.scopes.join(","))] : []),
  ]);
  const head = ["ID", "KIND", "NAME", "PROJECT", "STATE", ...(isScoped ? ["SCOPES"] : [])];
  return renderColumns([head, ...rows]);
}

/** A reviewer's role says more than that it is one. */
function kindOf({ kind, role, isBot }: ListedToken): string {
  return isBot ? `${role} (bot)` : (role ?? kind);
}

function stateOf(expiresAt: number | null, revokedAt: number | null, now: number): string {
  if (revokedAt !== null) return `revoked ${formatTimestamp(revokedAt)}`;
  if (expiresAt === null) return "live";
  const verb = expiresAt <= now ? "expired" : "live until";
  return `${verb} ${formatTimestamp(expiresAt)}`;
}
