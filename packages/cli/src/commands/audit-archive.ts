/** The command that moves old entries of the audit log to an archive. */

import { EXIT, type Terminal, usageError } from "@countersign/command-line";
import { parseDuration } from "@countersign/protocol";
import {
  archiveDatabase,
  type LogArchive,
  SINK_KINDS,
  type SinkKind,
  sinksOf,
  toSecrets,
  toSettings,
} from "@countersign/server";
import { isLogNamed, projectOf, timeOf, withAudit } from "../audit-options.ts";
import type { Command } from "../command.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

const DAY_MS = 24 * 3_600_000;

export const auditArchive: Command = {
  usage: "audit archive",
  help: "Archive old audit entries, and prune them.",
  example: "audit archive --to /srv/audit-archive --before 90d --prune",
  settings: ["server"],
  options: {
    to: { type: "text", value: "DIR", help: "Folder of the archive." },
    before: { type: "text", value: "TIME", help: "A time, or an age such as 90d. [now]" },
    prune: { type: "flag", help: "Delete archived entries that are older than 30 days." },
    "without-stream": { type: "text", value: "SINK", help: "Unused audit stream: http or file." },
    project: { type: "text", value: "PROJECT", help: "Only the log of this project." },
    server: { type: "flag", help: "Only the log of the whole server." },
  },

  async run(line, terminal) {
    line.take();
    const directory = line.text("to");
    if (directory === undefined) throw usageError("--to is missing: give a folder for the archive");
    const [prunes, age, without] = [line.flag("prune"), ageOf(line), withoutOf(line)];
    if (prunes && line.text("before") === undefined) {
      throw usageError("--prune needs --before, such as --before 90d");
    }
    const time = age === undefined ? timeOf(line, "before") : undefined;
    const config = line.config();
    const logs: LogArchive[] = [];
    await withAudit(line, async (database) => {
      const archives = archiveDatabase(database, {
        log: isLogNamed(line) ? { project: projectOf(line) } : undefined,
        directory,
        before: age === undefined ? time : database.clock.now() - age,
        prunes,
        sinks: sinksOf(toSettings(config), toSecrets(config)),
        without,
        onProgress: (project, step) => terminal.status(`${nameOf(project)}: ${step}`),
      });
      for await (const archive of archives) {
        logs.push(archive);
        if (!line.json) show(archive, terminal);
      }
    });
    if (line.json) terminal.out(JSON.stringify({ logs: logs.map(toJson) }));
    return EXIT.done;
  },
};

/** @returns ms; undefined when the option is a time */
function ageOf(line: SettingsLine): number | undefined {
  const text = line.text("before");
  const [, days] = /^(\d{1,5})d$/.exec(text ?? "") ?? [];
  if (days !== undefined) return Number(days) * DAY_MS;
  return text === undefined ? undefined : parseDuration(text);
}

function withoutOf(line: SettingsLine): SinkKind[] {
  const text = line.text("without-stream");
  if (text === undefined) return [];
  const sink = SINK_KINDS.find((each) => each === text);
  if (sink === undefined) throw usageError("--without-stream must be http or file");
  return [sink];
}

function show({ project, folder, written, pruned, files }: LogArchive, terminal: Terminal): void {
  const [first, last] = [written[0], written.at(-1)];
  const name = nameOf(project);
  if (first === undefined || last === undefined) {
    const end = files.at(-1)?.to ?? pruned.from;
    terminal.out(`${name}: nothing to archive after entry ${end}`);
  } else {
    terminal.out(`${name}: archived entries ${first.from} to ${last.to - 1} in ${folder}`);
  }
  if (pruned.to > pruned.from) {
    terminal.out(`${name}: pruned entries ${pruned.from} to ${pruned.to - 1}`);
  }
}

function toJson({ project, origin, folder, size, written, pruned }: LogArchive): object {
  return {
    project: project ?? null,
    origin,
    folder,
    size,
    written: written.map(({ path, from, to }) => ({ path, from, to })),
    pruned,
  };
}

function nameOf(project: string | undefined): string {
  return project === undefined ? "the server" : `project ${visibleText(project)}`;
}
