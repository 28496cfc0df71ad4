/**
 * The commands that read a whole audit log, on a SQLite database of many decided requests whose
 * entries are sealed: verify it, verify its end only, and export it.
 */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openContext, readConfig, toSecrets, toSettings } from "@countersign/server";
import type { Context } from "../packages/server/src/context.ts";
import { sealEntries } from "../packages/server/src/operations/audit/sealEntries.ts";
import { RecentlyUsed } from "../packages/server/src/recently-used.ts";
import { type CommandCost, runCommand } from "./command-cost.ts";
import { growStore } from "./growth.ts";
import type { Options } from "./options.ts";
import { median, rangeOf } from "./statistics.ts";
import { mb, perSecond, reportProgress, table } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface AuditCommands {
  /** Decided requests, each with two entries. */
  readonly stored: number;
  readonly entries: number;
  readonly seals: number;
  readonly verify: RepeatedCost;
  /** From a checkpoint of the whole log. */
  readonly verifySince: RepeatedCost;
  readonly export: RepeatedCost;
}

/** Of each round. */
export interface RepeatedCost {
  readonly seconds: readonly number[];
  readonly memoryMb: readonly number[];
}

const PROJECT = "bench";

const STORED = 1_000_000;

export async function measureAuditCommands({
  stored = STORED,
  rounds,
}: Options): Promise<AuditCommands> {
  const folder = temporaryFolder();
  try {
    await growStore(folder, stored);
    const log = await sealAnew(folder);
    if (log.entries < 2 * stored) throw new Error(`${log.entries} entries were sealed`);
    const run = (...args: readonly string[]) => {
      reportProgress(`audit: countersign audit ${args.join(" ")}`);
      return runCommand(["audit", ...args, "--project", PROJECT, "--data", folder]);
    };
    const repeat = async (once: () => Promise<CommandCost>): Promise<RepeatedCost> => {
      const costs: CommandCost[] = [];
      while (costs.length < rounds) costs.push(await once());
      return {
        seconds: costs.map(({ seconds }) => seconds),
        memoryMb: costs.map(({ memoryMb }) => memoryMb),
      };
    };
    const verify = await repeat(() => run("verify"));
    const checkpoint = join(folder, "checkpoint");
    writeFileSync(checkpoint, (await run("checkpoint")).output);
    const verifySince = await repeat(() => run("verify", "--since", checkpoint));
    const exported = await repeat(async () => {
      const file = join(folder, "audit.jsonl");
      rmSync(file, { force: true });
      return run("export", "--out", file);
    });
    return { stored, ...log, verify, verifySince, export: exported };
  } finally {
    removeFolder(folder);
  }
}

/**
 * Seals the log of the project from its start. A server would find entries with such old ids only
 * by its scan of the whole log, once a day.
 */
async function sealAnew(folder: string): Promise<Pick<AuditCommands, "entries" | "seals">> {
  const config = readConfig({ data: folder }, {});
  const { context, close } = await openContext(toSettings(config), toSecrets(config));
  try {
    const projectId = await removeLog(context);
    const keys = new RecentlyUsed<string, never>(1);
    let step = await sealEntries(context, keys, projectId);
    while (step.next !== undefined) {
      step = await sealEntries(context, keys, projectId, step.recentSeal, step.next);
    }
    return await countLog(context, projectId);
  } finally {
    await close();
  }
}

async function removeLog({ store }: Context): Promise<string> {
  return store.transact(async (tx) => {
    const project = await tx.get("select id from project where name = $1", [PROJECT]);
    const projectId = String(project?.id);
    for (const name of ["audit_seal", "audit_tile", "audit_log"]) {
      await tx.run(`delete from ${name} where project_id = $1`, [projectId]);
    }
    return projectId;
  });
}

async function countLog(
  { store }: Context,
  projectId: string,
): Promise<Pick<AuditCommands, "entries" | "seals">> {
  const row = await store.get(
    "select sum(entries) as entries, count(*) as seals from audit_seal where project_id = $1",
    [projectId],
  );
  return { entries: Number(row?.entries), seals: Number(row?.seals) };
}

export function auditCommandsTable(results: AuditCommands): string {
  const { entries, seals, verify, verifySince, export: exported } = results;
  const cells = ({ seconds, memoryMb }: RepeatedCost) => {
    const [shortest, longest] = rangeOf(seconds);
    const [least, most] = rangeOf(memoryMb);
    return [
      `${median(seconds).toFixed(1)} s`,
      `${shortest.toFixed(1)} to ${longest.toFixed(1)} s`,
      mb(median(memoryMb)),
      `${mb(least)} to ${mb(most)}`,
    ];
  };
  return table([
    [
      `${perSecond(entries)} entries, ${perSecond(seals)} seals`,
      "time",
      "of all rounds",
      "memory MB",
      "of all rounds",
    ],
    ["audit verify", ...cells(verify)],
    ["audit verify --since the latest checkpoint", ...cells(verifySince)],
    ["audit export", ...cells(exported)],
  ]);
}
