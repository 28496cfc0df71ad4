/** The command that migrates a database to the schema of this version. */

import { EXIT } from "@countersign/command-line";
import { checkDatabase, migrateDatabase, toSecrets, toSettings } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";

type State = Awaited<ReturnType<typeof checkDatabase>>;

export const migrate: Command = {
  usage: "migrate",
  help: "Migrate the database of a stopped server.",
  example: "migrate --check",
  options: {
    check: { type: "flag", help: "Only check whether this version can use the database." },
  },
  settings: ["server"],

  async run(line, terminal) {
    line.take();
    const config = line.config();
    assertDatabase(config);
    const place = [toSettings(config), toSecrets(config)] as const;
    if (line.flag("check")) {
      const state = await checkDatabase(...place);
      terminal.out(line.json ? toJson(state) : describe(state));
      return state.isUsable ? EXIT.done : EXIT.refused;
    }
    const { from, ...state } = await migrateDatabase(...place);
    if (line.json) terminal.out(toJson(state, { from }));
    else if (from === state.version) terminal.out(describe(state));
    else terminal.out(`Migrated the database from schema ${from} to ${state.version}.`);
    return EXIT.done;
  },
};

function describe({ version, oldestProgram, needed, isUsable }: State): string {
  const has = `The database has schema ${version}, this program needs ${needed}`;
  if (version === needed && isUsable) return `${has}: nothing to do.`;
  if (isUsable) return `${has} and can use it.`;
  if (version < needed && oldestProgram <= needed) return `${has}: run countersign migrate.`;
  return `${has} and cannot use it: use a newer version of countersign.`;
}

function toJson(state: State, more: object = {}): string {
  const { version, oldestProgram, needed, isUsable } = state;
  const json = { version, needed, oldest_program: oldestProgram, usable: isUsable };
  return JSON.stringify({ ...json, ...more });
}
