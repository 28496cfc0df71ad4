import { backupDatabase, databaseFile } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";
import { EXIT } from "../exit.ts";

export const backup: Command = {
  usage: "backup FILE",
  help: "Copy the database, also of a running server. The secret key is not in the copy.",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    const [target = ""] = line.take("the file to write");
    const { data } = line.config();
    const source = databaseFile(data);
    assertDatabase(data);
    backupDatabase(source, target);
    terminal.out(line.json ? JSON.stringify({ file: target }) : `Copied ${source} to ${target}.`);
    terminal.note(`Keep ${data}/secret.key as well, at another place: the copy needs it.`);
    return EXIT.done;
  },
};
