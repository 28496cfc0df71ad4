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
  help: "Make a link with which somebody becomes a reviewer, and print it, once.",
  settings: ["client"],
  options: {
    ...ROLE_AND_GROUPS,
    lasts: { type: "text", value: "DURATION", help: "How long it can be used, to 720h. [72h]" },
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the reviewer");
    const lasts = line.text("lasts");
    if (lasts !== undefined && parseDuration(lasts) === undefined) {
      throw usageError("--lasts is a whole number followed by s, m or h, like 24h");
    }
    const body = { name, role: roleOf(line), groups: groupsOf(line), lasts };
    const made = await connectApi(line).call("POST /invitations", { body });
    if (line.json) {
      terminal.out(exactText(made));
      return EXIT.done;
    }
    terminal.out(visibleText(made.url));
    const until = `until ${visibleText(made.expires_at)}`;
    terminal.note(`For ${visibleText(made.name)}, once, ${until}. Whoever has it may use it.`);
    return EXIT.done;
  },
};

export const invitationsList: Command = {
  usage: "invitations list",
  help: "List invitations, the newest first; their links are not stored.",
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
  help: "Take back a link that nobody has used.",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [value = ""] = line.take("the id of the invitation");
    const id = parseIdentifier(value);
    if (id === undefined) throw usageError("the id is not one that invitations list shows");
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
