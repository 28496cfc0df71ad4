import type { Terminal } from "@countersign/command-line";
import { makeReturnLink, makeSetupLink, publicUrlOf, toSettings } from "@countersign/server";
import type { Command } from "../command.ts";
import type { SettingsLine } from "../settings-line.ts";
import { withKnownData } from "../with-data.ts";

/** The project of the first person, as of tokens that name none. */
export const DEFAULT_PROJECT = "default";

export const peopleSetupLink: Command = {
  usage: "people setup-link",
  help: "Make the link of the first person, who becomes operator. It ends the one before.",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Of which operator. [default]" },
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
  help: "Make a link with which somebody sets a new password who cannot sign in.",
  settings: ["server"],
  options: {
    "forget-passkeys": { type: "flag", help: "Also remove all passkeys that they have, now." },
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
  if (!line.json) terminal.note("It works once, for 24 hours. Whoever has it may use it.");
}

/** The secret stands behind the `#`, so that no browser sends it and no proxy logs it. */
export function linkTo(publicUrl: string, page: string, token: string): string {
  return `${publicUrl}/${page}#${token}`;
}
