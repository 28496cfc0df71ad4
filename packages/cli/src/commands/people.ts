import { renderColumns } from "@countersign/command-line";
import { formatTimestamp } from "@countersign/protocol";
import { disablePerson, type ListedPerson, listPeople } from "@countersign/server";
import type { Command } from "../command.ts";
import { visibleText } from "../visible-text.ts";
import { withKnownData } from "../with-data.ts";

export const peopleList: Command = {
  usage: "people list",
  help: "List everybody who signs in, with what, and who is disabled.",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    return withKnownData(line, async ({ context }) => {
      const people = await listPeople(context);
      if (line.json) terminal.out(JSON.stringify(people.map(toJson)));
      else terminal.out(people.length === 0 ? "Nobody signs in." : table(people));
    });
  },
};

export const peopleDisable = accessCommand(
  "disable",
  "Shut somebody out of everything at once: sessions end, tokens and votes count no more.",
  true,
);

export const peopleEnable = accessCommand(
  "enable",
  "Let somebody in again who was disabled, with the keys and tokens that they had.",
  false,
);

function accessCommand(verb: string, help: string, isDisabled: boolean): Command {
  return {
    usage: `people ${verb} LOGIN`,
    help,
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
