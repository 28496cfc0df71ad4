/** The commands that export the sealed log, its checkpoints, its keys and its proofs. */

import { writeFileSync } from "node:fs";
import { EXIT, usageError } from "@countersign/command-line";
import { parseIdentifier } from "@countersign/protocol";
import {
  type AuditDatabase,
  exportEvents,
  exportLog,
  findEntriesOfRequest,
  folderOf,
  listArchive,
  parseStreamFormat,
  proveArchived,
  proveEntries,
  type StreamFormat,
  writeProven,
  writeVerifier,
} from "@countersign/server";
import { projectOf, refuse, timeOf, WHICH_LOG, withAudit } from "../audit-options.ts";
import type { Command } from "../command.ts";
import { writeLines } from "../line-writer.ts";
import type { SettingsLine } from "../settings-line.ts";

export const auditExport: Command = {
  usage: "audit export",
  help: "Export the audit log as JSON lines.",
  example: "audit export --out audit.jsonl",
  settings: ["server"],
  options: {
    ...WHICH_LOG,
    since: { type: "text", value: "TIME", help: "Start time, approximate. [the first entry]" },
    format: { type: "text", value: "FORMAT", help: "Format: log, cloudevents or ocsf. [log]" },
    after: { type: "text", value: "POSITION", help: "Last exported position. Needs --format." },
    out: { type: "text", value: "FILE", help: "Output file. [stdout]" },
  },

  async run(line, terminal) {
    line.take();
    const [since, out, project] = [timeOf(line, "since"), line.text("out"), projectOf(line)];
    const [format, from] = [formatOf(line), positionAfter(line)];
    if (format === undefined && from !== undefined) {
      throw usageError("--after requires --format cloudevents or --format ocsf");
    }
    if (since !== undefined && from !== undefined) {
      throw usageError("give --since or --after, not both");
    }
    await withAudit(line, async ({ reader, log: find }) => {
      const log = await find(project);
      const events =
        format === undefined
          ? exportLog(reader, log, since)
          : exportEvents(reader, log, format, { from, since });
      const lines = await writeLines(events, out);
      if (out !== undefined) terminal.note(`Wrote ${lines} lines of ${log.origin} to ${out}.`);
      if (log.pruned > 0 && since === undefined && from === undefined) {
        terminal.note(`Entries 0 to ${log.pruned - 1} are in an archive, not in this export.`);
      }
    });
    return EXIT.done;
  },
};

/** @returns undefined for the format that can be verified */
function formatOf(line: SettingsLine): StreamFormat | undefined {
  const text = line.text("format") ?? "log";
  const format = parseStreamFormat(text);
  if (format !== undefined || text === "log") return format;
  throw usageError("--format must be log, cloudevents or ocsf");
}

/** `sequence` of a CloudEvent has leading zeros. */
function positionAfter(line: SettingsLine): number | undefined {
  const text = line.text("after");
  if (text === undefined) return undefined;
  if (/^\d{1,16}$/.test(text)) return Number(text) + 1;
  throw usageError("--after must be a position, such as 41: the sequence of an event");
}

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
    archive: { type: "text", value: "DIR", help: "Archive with the earlier entries." },
    out: { type: "text", value: "FILE", help: "Output file. [stdout]" },
  },

  async run(line, terminal) {
    const [text = ""] = line.take("the id of the request");
    const id = parseIdentifier(text);
    if (id === undefined) throw usageError("invalid id of a request");
    const out = line.text("out");
    await withAudit(line, async ({ reader, log: find }) => {
      const log = await find(projectOf(line));
      const archived = await provenInArchive(line, log, id);
      const entries = await findEntriesOfRequest(reader, log.projectId, id);
      if (entries.length + archived.length === 0) throw noEntry(log);
      const stored = await proveEntries(reader, log, entries);
      const proven = [...archived, ...stored];
      const left = entries.length - stored.length;
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

type FoundLog = Awaited<ReturnType<AuditDatabase["log"]>>;

async function provenInArchive(line: SettingsLine, log: FoundLog, id: string) {
  const directory = line.text("archive");
  if (directory === undefined) return [];
  const folder = folderOf(directory, log.origin);
  const files = listArchive(folder);
  if (files.length === 0) throw refuse("no_archive", `${folder} has no files of an archive`);
  return proveArchived(files, id, log.pruned);
}

function noEntry({ pruned }: FoundLog): Error {
  const message = "the log has no entry of this request";
  if (pruned === 0) return refuse("not_found", message);
  const rest = `entries 0 to ${pruned - 1} are in an archive`;
  return refuse("not_found", `${message} in the database; ${rest}: give --archive DIR`);
}
