import { formatTimestamp, parseDuration, parseIdentifier } from "@countersign/protocol";
import {
  createToken,
  type ListedToken,
  listTokens,
  type OpenedContext,
  openContext,
  revokeToken,
  systemClock,
  toSecrets,
  toSettings,
} from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";
import type { CommandLine } from "../command-line.ts";
import { EXIT, usageError } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { visibleText } from "../visible-text.ts";

export const tokensCreate: Command = {
  usage: "tokens create provisioner|reviewer",
  help: "Make a token and print it, once. A known name gets one more token, for rotation.",
  settings: ["server"],
  options: {
    name: { type: "text", value: "NAME", help: "Whose token it is. Required." },
    project: { type: "text", value: "PROJECT", help: "Its scope, made if new. [default]" },
    role: { type: "text", value: "ROLE", help: "Of a reviewer: reviewer or viewer. [reviewer]" },
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
    const role = roleOf(line, kind);
    const expiresAt = expiryOf(line);
    return withData(line, terminal, async ({ context }) => {
      const issued = await createToken(context, { kind, name, project, role, expiresAt });
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
    assertDatabase(line.config());
    return withData(line, terminal, async ({ context }) => {
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
    assertDatabase(line.config());
    return withData(line, terminal, async ({ context }) => {
      await revokeToken(context, id);
      terminal.out(line.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    });
  },
};

/** Works on the data folder itself, beside a running server or without one. */
async function withData(
  line: CommandLine,
  terminal: Terminal,
  work: (opened: OpenedContext) => Promise<void>,
): Promise<typeof EXIT.done> {
  const config = line.config();
  const opened = await openContext(toSettings(config), toSecrets(config));
  try {
    const place = config.database_url === undefined ? config.data : "database_url";
    if (opened.isNew) terminal.note(`There was no database in ${place}; made one.`);
    await work(opened);
    return EXIT.done;
  } finally {
    await opened.close();
  }
}

function roleOf(line: CommandLine, kind: "provisioner" | "reviewer"): "reviewer" | "viewer" {
  const role = line.text("role");
  if (role === undefined) return "reviewer";
  if (kind !== "reviewer") throw usageError("--role belongs to reviewers");
  if (role !== "reviewer" && role !== "viewer") throw usageError("--role is reviewer or viewer");
  return role;
}

function expiryOf(line: CommandLine): number | null {
  const text = line.text("expires-in");
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms === undefined || ms > Number.MAX_SAFE_INTEGER / 4) {
    throw usageError("--expires-in is a duration like 720h");
  }
  return systemClock.now() + ms;
}

function toJson(token: ListedToken): object {
  const { id, kind, name, project, role, createdAt, expiresAt, revokedAt } = token;
  return {
    id,
    kind,
    name,
    project,
    ...(role !== null && { role }),
    created_at: formatTimestamp(createdAt),
    ...(expiresAt !== null && { expires_at: formatTimestamp(expiresAt) }),
    ...(revokedAt !== null && { revoked_at: formatTimestamp(revokedAt) }),
  };
}

function table(tokens: readonly ListedToken[]): string {
  const now = systemClock.now();
  const rows = tokens.map(({ id, kind, role, name, project, expiresAt, revokedAt }) => [
    id,
    role === "viewer" ? "viewer" : kind,
    visibleText(name),
    visibleText(project),
    stateOf(expiresAt, revokedAt, now),
  ]);
  const all = [["ID", "KIND", "NAME", "PROJECT", "STATE"], ...rows];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...all.map((row) => (row[column] ?? "").length)),
  );
  return all
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .join("\n");
}

function stateOf(expiresAt: number | null, revokedAt: number | null, now: number): string {
  if (revokedAt !== null) return `revoked ${formatTimestamp(revokedAt)}`;
  if (expiresAt === null) return "live";
  const verb = expiresAt <= now ? "expired" : "live until";
  return `${verb} ${formatTimestamp(expiresAt)}`;
}
