import type { Terminal } from "@countersign/command-line";
import { makeReturnLink, makeSetupLink, publicUrlOf, toSettings } from "@countersign/server";
import type { Command } from "../command.ts";
import type { SettingsLine } from "../settings-line.ts";
import { withKnownData } from "../with-data.ts";

/** The project of the first person, as of tokens that name none. */
export const DEFAULT_PROJECT = "default";

export const peopleSetupLink: Command = {
  usage: "people setup-link",
  help: "Create the setup link for the first operator.",
  example: "people setup-link",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Project of the operator. [default]" },
  },

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const project = line.text("project") ?? DEFAULT_PROJECT;
      printLink(line, terminal, "setup", await makeSetupLink(context, project));
    });
  },
};

export const peopleRecoveryLink: Command = {
  usage: "people recovery-link LOGIN",
  help: "Create a link to set a new password.",
  example: "people recovery-link alice",
  settings: ["server"],
  options: {
    "forget-passkeys": { type: "flag", help: "Remove all passkeys of the person now." },
  },

  async run(line, terminal) {
    const [login = ""] = line.take("the login of the person");
    return withKnownData(line, async ({ context }) => {
      printLink(
        line,
        terminal,
        "invitation",
        await makeReturnLink(context, login, line.flag("forget-passkeys")),
      );
    });
  },
};

function printLink(line: SettingsLine, terminal: Terminal, page: string, token: string): void {
  const url = linkTo(publicUrlOf(toSettings(line.config())), page, token);
  terminal.out(line.json ? JSON.stringify({ url }) : url);
  if (!line.json)
    terminal.note("Works once, within 24 hours. Anyone who has this link can use it.");
}

/** The secret follows the `#`, so that no browser sends it and no proxy logs it. */
export function linkTo(publicUrl: string, page: string, token: string): string {
  return `${publicUrl}/${page}#${token}`;
}
