import { usageError } from "@countersign/command-line";
import { linkPerson } from "@countersign/server";
import type { Command } from "../command.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const peopleLink: Command = {
  usage: "people link LOGIN",
  help: "Let somebody with a login here sign in at the identity provider as the same person.",
  settings: ["server", "sign-in"],
  options: {
    subject: { type: "text", value: "SUB", help: "Who they are there: the claim sub." },
    remove: { type: "flag", help: "End that, and their sessions." },
  },

  async run(line, terminal) {
    const [login = ""] = line.take("the login of the person");
    const subject = line.text("subject") ?? null;
    if ((subject === null) !== line.flag("remove")) {
      throw usageError("people link needs either --subject SUB or --remove");
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
