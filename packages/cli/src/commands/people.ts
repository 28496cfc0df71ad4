/** The commands that list, disable and enable people. */

import { renderColumns } from "@countersign/command-line";
import { formatTimestamp } from "@countersign/protocol";
import { disablePerson, type ListedPerson, listPeople } from "@countersign/server";
import type { Command } from "../command.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const peopleList: Command = {
  usage: "people list",
  help: "List the people who can sign in.",
  example: "people list",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const people = await listPeople(context);
      if (line.json) terminal.out(JSON.stringify(people.map(toJson)));
      else terminal.out(people.length === 0 ? "There are no people." : table(people));
    });
  },
};

export const peopleDisable = accessCommand(
  "disable",
  "Disable a person: end sessions, tokens and pending votes.",
  true,
);

export const peopleEnable = accessCommand(
  "enable",
  "Enable a disabled person and their passkeys and tokens.",
  false,
);

function accessCommand(verb: string, help: string, isDisabled: boolean): Command {
  return {
    usage: `people ${verb} LOGIN`,
    help,
    example: `people ${verb} alice`,
    settings: ["server"],
    options: {},

    async run(line, terminal) {
      const [login = ""] = line.take("the login of the person");
      return withKnownData(line, async ({ context }) => {
        await disablePerson(context, { login, isDisabled });
        const message = `${visibleText(login)} is ${verb}d.`;
        terminal.out(line.json ? JSON.stringify({ login, disabled: isDisabled }) : message);
      });
    },
  };
}

function toJson({ id, login, name, ways, disabledAt }: ListedPerson): object {
  return {
    id,
    login,
    name,
    ways,
    ...(disabledAt !== null && { disabled_at: formatTimestamp(disabledAt) }),
  };
}

function table(people: readonly ListedPerson[]): string {
  const rows = people.map(({ login, name, ways, disabledAt }) => [
    visibleText(login),
    visibleText(name),
    disabledAt === null ? "enabled" : "disabled",
    ways.length === 0 ? "-" : ways.join(","),
  ]);
  return renderColumns([["LOGIN", "NAME", "STATE", "SIGNS IN WITH"], ...rows]);
}
