import { CommandError, EXIT } from "@countersign/command-line";
import { backupDatabase, databaseFile } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";

export const backup: Command = {
  usage: "backup FILE",
  help: "Copy the database, also of a running server. The secret key is not in the copy.",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    const [target = ""] = line.take("the file to write");
    const config = line.config();
    if (config.database_url !== undefined) {
      const message = "the database is at database_url: copy it with pg_dump";
      throw new CommandError(EXIT.refused, "not_a_file", message);
    }
    const { data } = config;
    const source = databaseFile(data);
    assertDatabase(config);
    backupDatabase(source, target);
    terminal.out(line.json ? JSON.stringify({ file: target }) : `Copied ${source} to ${target}.`);
    const key = config.secret_key === undefined ? `${data}/secret.key` : "the secret key";
    terminal.note(`Keep ${key} as well, at another place: the copy needs it.`);
    return EXIT.done;
  },
};
