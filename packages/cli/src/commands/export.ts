/** The command that writes the state of the project as files. */

import { EXIT, usageError } from "@countersign/command-line";
import { readActual } from "../apply/actual.ts";
import { KINDS } from "../apply/kinds/index.ts";
import { writeExport } from "../apply/write-export.ts";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { visibleText } from "../visible-text.ts";

export const exportCommand: Command = {
  usage: "export",
  help: "Write the project as files for apply.",
  example: "export -d countersign/",
  settings: ["client"],
  options: {
    dir: { type: "text", short: "d", value: "DIR", help: "New or empty directory. Required." },
  },

  async run(line, terminal) {
    line.take();
    const directory = line.text("dir");
    if (!directory) throw usageError("--dir is missing");
    const requested = { invitations: false, tokens: true, grants: false };
    const actual = await readActual(connectApi(line), () => requested);
    const { files, notes } = writeExport(directory, KINDS, actual);
    for (const note of line.json ? [] : notes) terminal.note(visibleText(note));
    const text = files.map((file) => `${directory.replace(/\/+$/, "")}/${file}`).join("\n");
    terminal.out(line.json ? JSON.stringify({ files, notes }) : text);
    return EXIT.done;
  },
};
