// Needs: bash
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Agent, exchange, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import type { Server } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { playGuide } from "./support/play-guide.ts";

const VERIFIER = join(import.meta.dirname, "../../../examples/audit-verifier/verify.mjs");

/** @returns the id of a request that a reviewer has approved, and that is sealed */
async function approved(server: Server): Promise<string> {
  const { url, data, database: file } = server;
  const reviewer = await makeToken(data, { kind: "reviewer" });
  const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
  const { id } = (await new Agent(url, credential.token).post("k", SUBMISSION)).json;
  const path = `${url}/review/v1/requests/${id}`;
  const shown = await exchange<{ arguments_sha256: string }>("GET", path, reviewer);
  const { arguments_sha256 } = shown.json;
  await exchange("POST", `${path}/verdict`, reviewer, { verdict: "approve", arguments_sha256 });
  await eventually("it is sealed", () => {
    const database = new DatabaseSync(file);
    try {
      const { size } = database.prepare("select sum(size) as size from audit_log").get() ?? {};
      const { n } = database.prepare("select count(*) as n from audit_entry").get() ?? {};
      return size === n ? true : undefined;
    } finally {
      database.close();
    }
  });
  return id;
}

test("[ours.audit.documented] the commands of the guide to proving a decision print its output", async (t) => {
  await playGuide(t, "guides/prove-a-decision.md", {
    async prepare({ server, folder }) {
      copyFileSync(VERIFIER, join(folder, "verify.mjs"));
      return { REQUEST: await approved(server) };
    },
  });
});
