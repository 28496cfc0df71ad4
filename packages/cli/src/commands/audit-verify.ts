/** The command that verifies the sealed log of a database, a backup, an export or a proof. */

import { existsSync, statSync } from "node:fs";
import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import {
  type DatabaseVerification,
  type Finding,
  listArchive,
  readLines,
  readSigned,
  type Verifier,
  verifyArchive,
  verifyDatabase,
  verifyExport,
  verifyProof,
} from "@countersign/server";
import {
  isLogNamed,
  olderBy,
  olderOf,
  projectOf,
  verifierOf,
  WHICH_LOG,
  withAudit,
  withAuditOf,
} from "../audit-options.ts";
import type { Command } from "../command.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

/** The verified facts, as lines for people and as members of JSON. */
interface Outcome {
  readonly finding: (Finding & { readonly project?: string | undefined }) | undefined;
  readonly lines: readonly string[];
  readonly json: object;
}

export const auditVerify: Command = {
  usage: "audit verify",
  help: "Verify the audit log, a backup, an export or a proof.",
  example: "audit verify --project default",
  settings: ["server"],
  options: {
    ...WHICH_LOG,
    project: { type: "text", value: "PROJECT", help: "Only the log of this project." },
    server: { type: "flag", help: "Only the log of the whole server." },
    "public-key": { type: "text", value: "KEY", help: "Output of audit key, or a file with it." },
    checkpoint: { type: "text", value: "FILE", help: "Older checkpoint to compare with." },
    since: { type: "text", value: "FILE", help: "Verify only entries after this checkpoint." },
    backup: { type: "text", value: "FILE", help: "Backup to restore and verify, instead of it." },
    archive: { type: "text", value: "DIR", help: "Archive to verify with the database." },
    file: { type: "text", value: "EXPORT", help: "Export, or archive folder of a log, to verify." },
    proof: { type: "text", value: "FILE", help: "Proofs to verify, instead of the database." },
  },

  async run(line, terminal) {
    line.take();
    const { finding, lines, json } = await outcomeOf(line, terminal);
    if (line.json) {
      terminal.out(JSON.stringify({ valid: finding === undefined, ...json, ...toJson(finding) }));
    } else {
      terminal.out(finding === undefined ? lines.join("\n") : describe(finding));
    }
    return finding === undefined ? EXIT.done : EXIT.refused;
  },
};

async function outcomeOf(line: SettingsLine, terminal: Terminal): Promise<Outcome> {
  const [file, proof, backup] = [line.text("file"), line.text("proof"), line.text("backup")];
  if (line.text("archive") !== undefined && (file ?? proof) !== undefined) {
    throw usageError("--archive requires a database; give a folder of it with --file");
  }
  if (line.text("since") !== undefined) assertIncremental(line);
  if ([file, proof, backup].filter((each) => each !== undefined).length > 1) {
    throw usageError("give only one of --backup, --file and --proof");
  }
  try {
    if (file !== undefined) return await ofExport(line, file, offlineKey(line), terminal);
    if (proof !== undefined) return await ofProofs(proof, offlineKey(line));
    return await ofDatabase(line, backup, terminal);
  } catch (error) {
    const finding = findingOf(error);
    if (finding === undefined) throw error;
    return { finding, lines: [], json: {} };
  }
}

/** @throws CommandError when an option does not fit an incremental verification */
function assertIncremental(line: SettingsLine): void {
  for (const name of ["checkpoint", "archive", "file", "proof"]) {
    if (line.text(name) !== undefined) throw usageError(`give --since or --${name}, not both`);
  }
}

/** The finding inside an error that stops a verification. */
function findingOf(error: unknown): Finding | undefined {
  if (!(error instanceof Error) || !("finding" in error)) return undefined;
  return error.finding as Finding;
}

/** @throws CommandError: without it, any key could have signed */
function offlineKey(line: SettingsLine): Verifier {
  const verifier = verifierOf(line);
  if (verifier === undefined) throw usageError("--public-key is missing");
  if (isLogNamed(line)) throw usageError("--project and --server require a database");
  return verifier;
}

async function ofDatabase(
  line: SettingsLine,
  backup: string | undefined,
  terminal: Terminal,
): Promise<Outcome> {
  const [verifier, since] = [verifierOf(line), olderOf(line, "since")];
  const older = since ?? olderOf(line);
  const open = backup === undefined ? withAudit : withAuditOf(backup);
  return open(line, async (database) => {
    const { logs, finding } = await verifyDatabase(database, {
      log: isLogNamed(line) ? { project: projectOf(line) } : undefined,
      verifier,
      older: older?.checkpoint,
      isIncremental: since !== undefined,
      archive: line.text("archive"),
      onProgress: (project, entries, size) => {
        terminal.status(`${nameOf(project)}: ${entries.toLocaleString("en")} of ${size} entries`);
      },
    });
    // By the key that the log was verified with, so after it.
    const known = logs.find(({ origin }) => origin === older?.checkpoint.origin);
    if (finding === undefined && older !== undefined && known !== undefined) {
      const { publicKey } = await database.log(known.project);
      readSigned(older.note, verifier ?? { name: known.origin, publicKey });
    }
    const lines = logs.length === 0 ? [NO_LOG] : logs.map(good);
    return { finding, lines, json: { logs: logs.map(toLog) } };
  });
}

const NO_LOG = "There is no log yet. The server creates it with the first sealed entry.";

type VerifiedLog = DatabaseVerification["logs"][number];

function good(log: VerifiedLog): string {
  const { project, size, unsealed, late, checkpoint, pruned, archived, notCompared } = log;
  const [, , root = ""] = checkpoint.split("\n");
  if (log.since > 0) return goodSince(log, root);
  const isPartial = pruned > archived;
  const more = [
    unsealed > 0 ? `; not sealed yet: ${unsealed}` : "",
    late > 0 ? `; sealed late: ${late}` : "",
    archived > 0 ? `; ${archived} of them in the archive` : "",
    notCompared > 0 ? `; requests not compared: ${notCompared}` : "",
  ];
  const count = isPartial ? `entries ${pruned} to ${size - 1}` : `${size} entries`;
  const verified = `${nameOf(project)}: ${count} verified, root ${root}${more.join("")}`;
  if (!isPartial) return verified;
  const rest = `entries 0 to ${pruned - 1} are in an archive and were not verified`;
  return `${verified}\n${nameOf(project)}: ${rest}; give its folder with --archive`;
}

function goodSince({ project, since, size }: VerifiedLog, root: string): string {
  const range = size === since ? "no new entries" : `entries ${since} to ${size - 1} verified`;
  const rest = `the stored hashes of entries 0 to ${since - 1} match the given checkpoint`;
  return `${nameOf(project)}: ${range}, root ${root}\n${nameOf(project)}: ${rest}`;
}

function toLog(log: VerifiedLog): object {
  const { project, origin, size, unsealed, late, checkpoint, pruned, archived, notCompared } = log;
  return {
    project: project ?? null,
    origin,
    since: log.since,
    size,
    unsealed,
    late,
    checkpoint,
    pruned,
    archived,
    not_compared: notCompared,
  };
}

async function ofExport(
  line: SettingsLine,
  file: string,
  verifier: Verifier,
  terminal: Terminal,
): Promise<Outcome> {
  const onProgress = (entries: number) => {
    terminal.status(`${entries.toLocaleString("en")} entries so far`);
  };
  const options = { verifier, older: olderBy(line, verifier), onProgress };
  if (isFolder(file)) return ofFolder(file, options);
  const { origin, from, size, finding } = await verifyExport(linesOf(file), options);
  const range = size === from ? "no entry" : `entries ${from} to ${size - 1}`;
  const lines = [`${origin}: ${range} verified`];
  return { finding, lines, json: { origin, from, size } };
}

async function ofFolder(
  folder: string,
  options: Parameters<typeof verifyArchive>[1],
): Promise<Outcome> {
  const files = listArchive(folder);
  if (files.length === 0) throw usageError(`${folder} has no files of an archive`);
  const { from, size } = await verifyArchive(files, options);
  const { name: origin } = options.verifier;
  const lines = [`${origin}: entries ${from} to ${size - 1} verified (files: ${files.length})`];
  return { finding: undefined, lines, json: { origin, from, size, files: files.length } };
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

async function ofProofs(file: string, verifier: Verifier): Promise<Outcome> {
  const lines: string[] = [];
  const entries: object[] = [];
  for await (const text of linesOf(file)) {
    const { position, size, entry } = verifyProof(text, verifier);
    const { at, kind, actor, subject, id } = entry;
    const time = new Date(at).toISOString();
    lines.push(
      `${time} ${visibleText(kind)} of ${visibleText(subject)} by ${visibleText(actor)}: ` +
        `entry ${position} of ${size} in ${verifier.name}`,
    );
    entries.push({ position, id, at, kind, actor, subject, detail: entry.detail });
  }
  if (lines.length === 0) throw usageError(`${file} is empty`);
  return { finding: undefined, lines, json: { origin: verifier.name, entries } };
}

function linesOf(file: string): AsyncIterable<string> {
  if (!existsSync(file)) throw usageError(`${file} does not exist`);
  return readLines(file);
}

function nameOf(project: string | undefined): string {
  return project === undefined ? "the server" : `project ${visibleText(project)}`;
}

/** Like `project default: entry 7, request.resolved of 2026-..., id ...: its row is missing`. */
function describe({
  fault,
  position,
  id,
  kind,
  at,
  project,
  origin,
  message,
}: Outcome["finding"] & {}): string {
  const entry = [
    position === undefined ? (id === undefined ? "" : "an entry") : `entry ${position}`,
    kind === undefined ? "" : visibleText(kind),
    at === undefined ? "" : timeText(at),
    id === undefined ? "" : `id ${visibleText(id)}`,
  ].filter((text) => text !== "");
  const label = project === undefined ? (origin ?? "the server") : nameOf(project);
  return `${fault}: ${[label, entry.join(", "), message].filter((text) => text !== "").join(": ")}`;
}

function timeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
}

function toJson(finding: Outcome["finding"]): object {
  if (finding === undefined) return {};
  const { fault, project, origin, position, id, kind, at, message } = finding;
  return { finding: { fault, project, origin, position, id, kind, at, message } };
}
