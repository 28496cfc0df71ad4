/** The commands that create, list and revoke invitations. */

import { EXIT, renderColumns, usageError } from "@countersign/command-line";
import { parseDuration, parseIdentifier } from "@countersign/protocol";
import { exactText, type Invitation } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { groupsOf } from "../name-list.ts";
import { ROLE_AND_GROUPS, roleOf } from "../reviewer-options.ts";
import { visibleText } from "../visible-text.ts";

export const invitationsCreate: Command = {
  usage: "invitations create NAME",
  help: "Create an invitation link for a reviewer.",
  example: "invitations create Alice --lasts 24h",
  settings: ["client"],
  options: {
    ...ROLE_AND_GROUPS,
    lasts: { type: "text", value: "DURATION", help: "Lifetime of the link, up to 720h. [72h]" },
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the reviewer");
    const lasts = line.text("lasts");
    if (lasts !== undefined && parseDuration(lasts) === undefined) {
      throw usageError("--lasts must be a duration, such as 24h");
    }
    const body = { name, role: roleOf(line), groups: groupsOf(line), lasts };
    const made = await connectApi(line).call("POST /invitations", { body });
    if (line.json) {
      terminal.out(exactText(made));
      return EXIT.done;
    }
    terminal.out(visibleText(made.url));
    const until = `until ${visibleText(made.expires_at)}`;
    terminal.note(
      `For ${visibleText(made.name)}, once, ${until}. Anyone who has this link can use it.`,
    );
    return EXIT.done;
  },
};

export const invitationsList: Command = {
  usage: "invitations list",
  help: "List invitations, latest first.",
  example: "invitations list",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const { invitations } = await connectApi(line).call("GET /invitations");
    if (line.json) terminal.out(`[${invitations.map(exactText).join(",")}]`);
    else terminal.out(invitations.length === 0 ? "There are no invitations." : table(invitations));
    return EXIT.done;
  },
};

export const invitationsRevoke: Command = {
  usage: "invitations revoke ID",
  help: "Revoke an unused invitation link.",
  example: "invitations revoke 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [value = ""] = line.take("the id of the invitation");
    const id = parseIdentifier(value);
    if (id === undefined) throw usageError("invalid id; run invitations list to see the ids");
    await connectApi(line).call("DELETE /invitations/{id}", { path: { id } });
    terminal.out(line.json ? JSON.stringify({ revoked: id }) : `Revoked ${id}.`);
    return EXIT.done;
  },
};

function table(invitations: readonly Invitation[]): string {
  const rows = invitations.map(({ id, name, role, groups, state, expires_at: until }) =>
    [id, name || "-", role, groups.join(",") || "-", `${state}, until ${until}`].map(visibleText),
  );
  return renderColumns([["INVITATION", "NAME", "ROLE", "GROUPS", "STATE"], ...rows]);
}
