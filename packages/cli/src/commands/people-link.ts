/** The command that links a person to their account at the identity provider. */

import { usageError } from "@countersign/command-line";
import { linkPerson } from "@countersign/server";
import type { Command } from "../command.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const peopleLink: Command = {
  usage: "people link LOGIN",
  help: "Link a person to an identity provider account.",
  example: "people link alice --subject 248289761001",
  settings: ["server", "sign-in"],
  options: {
    subject: {
      type: "text",
      value: "SUB",
      help: "Claim sub of the account at the identity provider.",
    },
    remove: { type: "flag", help: "Remove the link and end the sessions of the person." },
  },

  async run(line, terminal) {
    const [login = ""] = line.take("the login of the person");
    const subject = line.text("subject") ?? null;
    if ((subject === null) !== line.flag("remove")) {
      throw usageError("give either --subject SUB or --remove");
    }
    return withKnownData(line, async ({ context }) => {
      await linkPerson(context, { login, subject });
      const message =
        subject === null
          ? `${visibleText(login)} does not sign in at the identity provider any more.`
          : `${visibleText(login)} signs in at the identity provider as ${visibleText(subject)}.`;
      terminal.out(line.json ? JSON.stringify({ login, subject }) : message);
    });
  },
};
