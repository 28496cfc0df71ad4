// Needs: bash, openssl, rsyslogd
/**
 * The guide to the audit stream: its commands, and rsyslog, which others wrote, with the
 * configuration of the guide. rsyslog reads the file of the server, also after a restart.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Child, type Owner } from "@countersign/testing/child";
import type { Server } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { findProgram } from "../../../tools/test-run/programs.ts";
import { approveRequest } from "./support/approve-request.ts";
import { playGuide } from "./support/play-guide.ts";

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Entries of all logs, as rsyslog is to write them. */
function storedEntries({ database: file }: Server): string[] {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare("select at, kind, actor from audit_entry").all();
    return rows.map(({ at, kind, actor }) => `${at} ${kind} ${actor}`).sort();
  } finally {
    database.close();
  }
}

/** @returns the process, which reads the stream and writes `entries.log` */
function startRsyslog(owner: Owner, folder: string): Child {
  const config = readFileSync(join(folder, "countersign.conf"), "utf8")
    .replace("/var/log/countersign/audit.jsonl", join(folder, "audit.jsonl"))
    .replace("/var/log/entries.log", join(folder, "entries.log"));
  const file = join(folder, "rsyslog.conf");
  writeFileSync(file, `global(workDirectory="${folder}")\n${config}`);
  const program = findProgram("rsyslogd") ?? assert.fail("rsyslogd is missing");
  const command = [program, "-n", "-f", file, "-i", join(folder, "rsyslog.pid")];
  return new Child(owner, command, { env: {}, cwd: folder });
}

test("[ours.stream.file] the commands of the guide print its output, and rsyslog receives every entry once, also after its restart", async (t) => {
  await playGuide(t, "guides/stream-to-a-siem.md", {
    async prepare({ server, folder }) {
      await approveRequest(server);
      await eventually("the decision is in the file", () =>
        linesOf(join(folder, "audit.jsonl")).some((line) => line.includes("request.resolved"))
          ? true
          : undefined,
      );
      return {};
    },
    async finish({ server, folder }) {
      const untilReceived = () =>
        eventually("rsyslog has every entry", () => {
          const received = linesOf(join(folder, "entries.log")).sort();
          const stored = storedEntries(server);
          return received.length === stored.length ? { received, stored } : undefined;
        });
      const first = startRsyslog(t, folder);
      await untilReceived();
      await first.end("SIGTERM");
      await approveRequest(server);
      startRsyslog(t, folder);
      const { received, stored } = await untilReceived();
      assert.deepEqual(received, stored);
    },
  });
});
