/**
 * Measures the processor time that a process needs to seal an entry of the audit log:
 * `node bench/sealing-cost.ts [ENTRIES]`, on a SQLite file of its own. Entries are as large as
 * those of a decided request.
 */

import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { uuidV7 } from "@countersign/protocol";
import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import { sealEntries } from "../packages/server/src/operations/audit/sealEntries.ts";
import { RecentlyUsed } from "../packages/server/src/recently-used.ts";
import { macOfEntry } from "../packages/server/src/storage/sql/audit/audit-entries.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const COUNT = Number(process.argv[2] ?? 100_000);
const ENTRIES_PER_INSERT = 2_000;
const PROJECT = randomBytes(8).toString("hex");

const folder = temporaryFolder();
const config = readConfig({ data: folder }, {});
const { context, close } = await openContext(toSettings(config), toSecrets(config));
const { store } = context;
const begin = Date.now() - COUNT;
const detail = JSON.stringify({
  status: "approved",
  tool_sha256: digest(1),
  arguments_sha256: digest(2),
  note_sha256: digest(3),
  deadline_at: begin,
  expires_at: begin,
});

for (let from = 0; from < COUNT; from += ENTRIES_PER_INSERT) {
  await store.transact(async (tx) => {
    for (let i = from; i < Math.min(COUNT, from + ENTRIES_PER_INSERT); i++) {
      const entry = {
        projectId: PROJECT,
        id: uuidV7(begin + i, randomBytes(10)),
        at: begin + i,
        detail,
        kind: "request.resolved",
        actor: `reviewer:${crypto.randomUUID()}`,
        subject: `request:${crypto.randomUUID()}`,
      };
      await tx.run(
        `insert into audit_entry (id, at, project_id, kind, actor, subject, detail, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          entry.id,
          entry.at,
          PROJECT,
          entry.kind,
          entry.actor,
          entry.subject,
          detail,
          macOfEntry(tx.integrity, entry),
        ],
      );
    }
  });
}

const keys = new RecentlyUsed<string, KeyObject>(10);
const longest = { ms: 0 };
const cpu = process.cpuUsage();
const startedAt = performance.now();
let step = await sealEntries(context, keys, PROJECT);
let sealed = step.sealed;
let batches = 1;
while (step.next !== undefined) {
  const at = performance.now();
  step = await sealEntries(context, keys, PROJECT, step.recentSeal, step.next);
  longest.ms = Math.max(longest.ms, performance.now() - at);
  sealed += step.sealed;
  batches++;
}
const { user, system } = process.cpuUsage(cpu);
const elapsedMs = performance.now() - startedAt;
const size = await store.get(
  `select sum(length(ids) + length(hashes) + length(checkpoint)) as n from audit_seal`,
);
await close();
console.log(
  JSON.stringify({
    sealed,
    batches,
    cpu_us_per_entry: Number(((user + system) / sealed).toFixed(1)),
    wall_us_per_entry: Number(((elapsedMs * 1_000) / sealed).toFixed(1)),
    longest_batch_ms: Number(longest.ms.toFixed(1)),
    stored_bytes_per_entry: Math.round(Number(size?.n) / sealed),
  }),
);

function digest(of: number): string {
  return createHash("sha256").update(`${of}`).digest("hex");
}
