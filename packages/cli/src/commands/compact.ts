/** The command that returns the free space of an SQLite database to the disk. */

import { CommandError, EXIT } from "@countersign/command-line";
import { compactDatabase } from "@countersign/server";
import { assertDatabase } from "../assert-database.ts";
import type { Command } from "../command.ts";

export const compact: Command = {
  usage: "compact",
  help: "Compact the database file of a stopped server.",
  example: "compact",
  settings: ["server"],
  options: {},

  async run(line, terminal) {
    line.take();
    const config = line.config();
    if (config.database_url !== undefined) {
      const message = "compact changes SQLite files only; PostgreSQL has vacuum full";
      throw new CommandError(EXIT.refused, "not_a_file", message);
    }
    assertDatabase(config);
    const { before, after } = compactDatabase(config.data);
    if (line.json) terminal.out(JSON.stringify({ before, after }));
    else terminal.out(`Compacted the database from ${megabytes(before)} to ${megabytes(after)}.`);
    return EXIT.done;
  },
};

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
