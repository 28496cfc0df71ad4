/** The commands that list, write and delete on-call schedules. */

import { readFileSync } from "node:fs";
import { EXIT, renderColumns, usageError } from "@countersign/command-line";
import { type BodySent, exactText, type oncall, type Schedule } from "@countersign/review-api";
import { parse } from "yaml";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { visibleText } from "../visible-text.ts";

export const oncallList: Command = {
  usage: "oncall list",
  help: "List on-call schedules and who is on call now.",
  example: "oncall list",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const { schedules } = await connectApi(line).call("GET /schedules");
    if (line.json) terminal.out(`[${schedules.map(exactText).join(",")}]`);
    else if (schedules.length === 0) terminal.out("There are no on-call schedules.");
    else terminal.out(table(schedules));
    return EXIT.done;
  },
};

export const oncallSet: Command = {
  usage: "oncall set NAME",
  help: "Create or replace an on-call schedule.",
  example: "oncall set payments --file payments.yaml",
  settings: ["client"],
  options: {
    file: { type: "text", value: "FILE", help: "YAML with source and people. Required." },
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the schedule");
    const file = line.text("file");
    if (!file) throw usageError("--file is missing");
    const body = { ...readYaml(file), name };
    const written = await connectApi(line).call("PUT /schedules", { body });
    terminal.out(line.json ? exactText(written) : `Saved the schedule ${written.name}.`);
    return EXIT.done;
  },
};

export const oncallDelete: Command = {
  usage: "oncall delete NAME",
  help: "Delete an on-call schedule.",
  example: "oncall delete payments",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [name = ""] = line.take("the name of the schedule");
    const api = connectApi(line);
    const { schedules } = await api.call("GET /schedules");
    const found = schedules.find((schedule) => schedule.name === name);
    if (found === undefined)
      throw usageError("there is no schedule with this name; see oncall list");
    const deleted = await api.call("DELETE /schedules/{id}", { path: { id: found.id } });
    terminal.out(line.json ? exactText(deleted) : `Deleted the schedule ${name}.`);
    return EXIT.done;
  },
};

/** The server checks the content. */
function readYaml(file: string): BodySent<typeof oncall.writeSchedule> {
  try {
    return parse(readFileSync(file, "utf8")) as BodySent<typeof oncall.writeSchedule>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(`--file: ${file} cannot be read: ${reason}`);
  }
}

function table(schedules: readonly Schedule[]): string {
  const rows = schedules.map(({ name, source, state, failure, on_call }) => {
    const people = on_call.map(({ who, reviewer }) => visibleText(reviewer ?? `${who} (unknown)`));
    return [
      visibleText(name),
      source,
      failure === undefined ? state : `${state}: ${visibleText(failure)}`,
      people.length === 0 ? "nobody" : people.join(", "),
    ];
  });
  return renderColumns([["NAME", "SOURCE", "STATE", "ON CALL"], ...rows]);
}
