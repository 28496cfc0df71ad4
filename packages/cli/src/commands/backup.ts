/** The command that copies the SQLite database of a running server. */

import { CommandError, EXIT } from "@countersign/command-line";
import { backupDatabase, databaseFile, recordBackup } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";

export const backup: Command = {
  usage: "backup FILE",
  help: "Copy the database, without the secret key.",
  example: "backup backup.db",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    const [target = ""] = line.take("the file to write");
    const config = line.config();
    if (config.database_url !== undefined) {
      const message = "backup copies SQLite only; copy database_url with pg_dump";
      throw new CommandError(EXIT.refused, "not_a_file", message);
    }
    const { data } = config;
    const source = databaseFile(data);
    assertDatabase(config);
    await backupDatabase(source, target);
    recordBackup(data);
    terminal.out(line.json ? JSON.stringify({ file: target }) : `Copied ${source} to ${target}.`);
    const key = config.secret_key === undefined ? `${data}/secret.key` : "the secret key";
    terminal.note(`Keep a copy of ${key} on another machine. The backup needs it.`);
    return EXIT.done;
  },
};
