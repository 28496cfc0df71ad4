/** The commands that create, list and revoke tokens. */

import { renderColumns, usageError } from "@countersign/command-line";
import { formatTimestamp, parseDuration, parseIdentifier } from "@countersign/protocol";
import {
  createScimToken,
  createToken,
  type ListedScimToken,
  type ListedToken,
  listScimTokens,
  listTokens,
  revokeScimToken,
  revokeToken,
  scopesFault,
  systemClock,
  type TokenOrder,
} from "@countersign/server";
import type { Command } from "../command.ts";
import { groupsOf, namesCell, namesOf } from "../name-list.ts";
import { ROLE_AND_GROUPS, roleOf } from "../reviewer-options.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const tokensCreate: Command = {
  usage: "tokens create provisioner|reviewer|scim",
  help: "Create a token and print it once.",
  example: "tokens create reviewer --name alice",
  settings: ["server"],
  options: {
    name: { type: "text", value: "NAME", help: "Name of the owner. Required." },
    project: {
      type: "text",
      value: "PROJECT",
      help: "Project of the token; created if new. [default]",
    },
    ...ROLE_AND_GROUPS,
    bot: { type: "flag", help: "Create a bot. It approves only where a rule permits bots." },
    scopes: {
      type: "text",
      value: "A,B",
      help: "Permissions of a reviewer token, such as read,decide.",
    },
    "expires-in": { type: "text", value: "DURATION", help: "Lifetime, such as 720h. [unlimited]" },
  },

  async run(line, terminal) {
    const [kind] = line.take("provisioner, reviewer or scim");
    if (kind !== "provisioner" && kind !== "reviewer" && kind !== "scim") {
      throw usageError("the kind of a token is provisioner, reviewer or scim");
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
      throw usageError("--role, --groups, --bot and --scopes require the kind reviewer");
    }
    const fault = scopes && scopesFault(scopes);
    if (fault !== undefined) throw usageError(`--scopes ${fault}`);
    const expiresAt = expiryOf(line);
    if (kind === "scim" && line.text("project") !== undefined) {
      throw usageError("--project does not apply to scim: the token manages the whole server");
    }
    return withKnownData(line, async ({ context }) => {
      if (kind === "scim") {
        const issued = await createScimToken(context, { name, expiresAt });
        terminal.out(line.json ? JSON.stringify(issued) : issued.token);
        return;
      }
      const order: TokenOrder = { kind, name, project, role, groups, isBot, scopes, expiresAt };
      const issued = await createToken(context, order);
      terminal.out(line.json ? JSON.stringify(issued) : issued.token);
    });
  },
};

export const tokensList: Command = {
  usage: "tokens list",
  help: "List the ids and the owners of tokens.",
  example: "tokens list",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const scim = await listScimTokens(context);
      const tokens = [...(await listTokens(context)), ...scim.map(toListed)];
      if (line.json) terminal.out(JSON.stringify(tokens.map(toJson)));
      else terminal.out(tokens.length === 0 ? "There are no tokens." : table(tokens));
    });
  },
};

export const tokensRevoke: Command = {
  usage: "tokens revoke ID",
  help: "Revoke a token.",
  example: "tokens revoke 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    const [text = ""] = line.take("the id of the token");
    const id = parseIdentifier(text);
    if (id === undefined) throw usageError("invalid id; run tokens list to see the ids");
    return withKnownData(line, async ({ context }) => {
      const scim = await listScimTokens(context);
      if (scim.some((token) => token.id === id)) await revokeScimToken(context, id);
      else await revokeToken(context, id);
      terminal.out(line.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    });
  },
};

function expiryOf(line: SettingsLine): number | null {
  const text = line.text("expires-in");
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms === undefined || ms > Number.MAX_SAFE_INTEGER / 4) {
    throw usageError("--expires-in must be a duration, such as 720h");
  }
  return systemClock.now() + ms;
}

/** A row of the list. The token of an identity provider belongs to no project. */
type Row = Omit<ListedToken, "kind" | "holderId" | "projectId"> & {
  readonly kind: ListedToken["kind"] | "scim";
};

function toListed({ id, name, createdAt, expiresAt, revokedAt }: ListedScimToken): Row {
  return {
    id,
    kind: "scim",
    name,
    project: "",
    role: null,
    isBot: false,
    scopes: null,
    createdAt,
    expiresAt,
    revokedAt,
  };
}

function toJson(token: Row): object {
  const { id, kind, name, project, role, isBot, scopes, createdAt, expiresAt, revokedAt } = token;
  return {
    id,
    kind,
    name,
    ...(project !== "" && { project }),
    ...(role !== null && { role }),
    ...(isBot && { bot: true }),
    ...(scopes !== null && { scopes }),
    created_at: formatTimestamp(createdAt),
    ...(expiresAt !== null && { expires_at: formatTimestamp(expiresAt) }),
    ...(revokedAt !== null && { revoked_at: formatTimestamp(revokedAt) }),
  };
}

function table(tokens: readonly Row[]): string {
  const now = systemClock.now();
  const isScoped = tokens.some(({ scopes }) => scopes !== null);
  const rows = tokens.map((token) => [
    token.id,
    kindOf(token),
    visibleText(token.name),
    visibleText(token.project),
    stateOf(token.expiresAt, token.revokedAt, now),
    ...(isScoped ? [namesCell(token.scopes ?? [])] : []),
  ]);
  const head = ["ID", "KIND", "NAME", "PROJECT", "STATE", ...(isScoped ? ["SCOPES"] : [])];
  return renderColumns([head, ...rows]);
}

/** A reviewer's role says more than that it is one. */
function kindOf({ kind, role, isBot }: Row): string {
  return isBot ? `${role} (bot)` : (role ?? kind);
}

function stateOf(expiresAt: number | null, revokedAt: number | null, now: number): string {
  if (revokedAt !== null) return `revoked ${formatTimestamp(revokedAt)}`;
  if (expiresAt === null) return "live";
  const verb = expiresAt <= now ? "expired" : "live until";
  return `${verb} ${formatTimestamp(expiresAt)}`;
}
