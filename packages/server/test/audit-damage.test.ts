import assert from "node:assert/strict";
import { test } from "node:test";
import { RESCAN_EVERY_MS } from "../src/operations/audit/claimRescans.ts";
import { Report } from "../src/report.ts";
import {
  assertVerified,
  logOf,
  projectId,
  storeOf,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { startScene } from "./support/scene.ts";

const PROJECTS = ["aaa", "default", "zzz"];

/** Some come before the damaged one in any order, and some behind. */
for (const name of PROJECTS) {
  test(`[ours.audit.sealed] a damaged log of ${name} does not stop other logs, and continues after its repair`, async (t) => {
    const lines: string[] = [];
    const report = new Report("info", { write: (line) => lines.push(line) });
    const scene = await startScene(t, { report });
    const { server, clock } = scene;
    const store = storeOf(scene);
    for (const each of PROJECTS) await server.instance(each);
    await untilSealed(scene);
    const project = await projectId(store, name);
    const { size } = await logOf(scene, name);
    const row = await store.get("select frontier from audit_log where project_id = $1", [project]);
    const setFrontier = "update audit_log set frontier = $2 where project_id = $1";
    await tamper(scene, setFrontier, project, "");
    for (const each of PROJECTS) await server.instance(each);
    const entries = "select count(*) as n from audit_entry where project_id = $1";
    const left = Number((await store.get(entries, [project]))?.n) - size;
    await untilSealed(scene, left);
    const { finding } = await verifyAll(scene);
    assert.deepEqual([finding?.fault, finding?.project], ["seal", name]);
    clock.advance(RESCAN_EVERY_MS);
    for (const each of PROJECTS) if (each !== name) await server.instance(each);
    await untilSealed(scene, left);
    const logged = lines.find((line) => line.includes("dependency.failed"));
    assert.match(logged ?? "", new RegExp(`log countersign/audit/${project}/`));
    await tamper(scene, setFrontier, project, row?.frontier ?? null);
    await untilSealed(scene);
    await assertVerified(scene);
  });
}
