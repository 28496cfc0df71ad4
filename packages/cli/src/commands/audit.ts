/** The commands that export the sealed log, its checkpoints, its keys and its proofs. */

import { writeFileSync } from "node:fs";
import { EXIT, usageError } from "@countersign/command-line";
import { parseIdentifier } from "@countersign/protocol";
import {
  exportLog,
  findEntriesOfRequest,
  proveEntries,
  writeProven,
  writeVerifier,
} from "@countersign/server";
import { projectOf, refuse, timeOf, WHICH_LOG, withAudit } from "../audit-options.ts";
import type { Command } from "../command.ts";
import { writeLines } from "../line-writer.ts";

export const auditExport: Command = {
  usage: "audit export",
  help: "Export the audit log as JSON lines.",
  example: "audit export --out audit.jsonl",
  settings: ["server"],
  options: {
    ...WHICH_LOG,
    since: { type: "text", value: "TIME", help: "Start time, approximate. [the first entry]" },
    out: { type: "text", value: "FILE", help: "Output file. [stdout]" },
  },

  async run(line, terminal) {
    line.take();
    const [since, out, project] = [timeOf(line, "since"), line.text("out"), projectOf(line)];
    await withAudit(line, async ({ reader, log: find }) => {
      const log = await find(project);
      const lines = await writeLines(exportLog(reader, log, since), out);
      if (out !== undefined) terminal.note(`Wrote ${lines} lines of ${log.origin} to ${out}.`);
    });
    return EXIT.done;
  },
};

export const auditCheckpoint: Command = {
  usage: "audit checkpoint",
  help: "Print the latest checkpoint of the audit log.",
  example: "audit checkpoint",
  settings: ["server"],
  options: WHICH_LOG,

  async run(line, terminal) {
    line.take();
    const project = projectOf(line);
    await withAudit(line, async ({ log }) => {
      const { checkpoint } = await log(project);
      terminal.out(line.json ? JSON.stringify({ checkpoint }) : checkpoint.trimEnd());
    });
    return EXIT.done;
  },
};

export const auditKey: Command = {
  usage: "audit key",
  help: "Print the public key of the audit log.",
  example: "audit key",
  settings: ["server"],
  options: WHICH_LOG,

  async run(line, terminal) {
    line.take();
    const project = projectOf(line);
    await withAudit(line, async ({ log }) => {
      const { origin: name, publicKey } = await log(project);
      const key = writeVerifier({ name, publicKey });
      terminal.out(line.json ? JSON.stringify({ public_key: key }) : key);
    });
    return EXIT.done;
  },
};

export const auditProve: Command = {
  usage: "audit prove REQUEST_ID",
  help: "Export the entries of a request with their proofs.",
  example: "audit prove 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --out proof.jsonl",
  settings: ["server"],
  options: {
    project: { type: "text", value: "PROJECT", help: "Project of the request. [default]" },
    out: { type: "text", value: "FILE", help: "Output file. [stdout]" },
  },

  async run(line, terminal) {
    const [text = ""] = line.take("the id of the request");
    const id = parseIdentifier(text);
    if (id === undefined) throw usageError("invalid id of a request");
    const out = line.text("out");
    await withAudit(line, async ({ reader, log: find }) => {
      const log = await find(projectOf(line));
      const entries = await findEntriesOfRequest(reader, log.projectId, id);
      if (entries.length === 0) throw refuse("not_found", "the log has no entry of this request");
      const proven = await proveEntries(reader, log, entries);
      const left = entries.length - proven.length;
      if (proven.length === 0) {
        throw refuse("not_sealed", "no entry of it is sealed yet; retry in some seconds");
      }
      const lines = proven.map(writeProven).join("\n");
      if (out === undefined) terminal.out(lines);
      else writeFileSync(out, `${lines}\n`, { mode: 0o600 });
      if (out !== undefined) terminal.note(`Wrote ${proven.length} entries to ${out}.`);
      if (left > 0) terminal.note(`Skipped, because not sealed yet: ${left}.`);
    });
    return EXIT.done;
  },
};
