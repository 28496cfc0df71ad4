import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { temporaryFolder } from "./support/child.ts";
import { eventually } from "./support/eventually.ts";
import { playGuide, serveIn } from "./support/guide.ts";
import { Agent, exchange, makeToken, provision, SUBMISSION } from "./support/people.ts";

const VERIFIER = join(import.meta.dirname, "../../../examples/audit-verifier/verify.mjs");

test("[ours.audit.documented] the commands of the guide to proving a decision do what it says", async (t) => {
  const folder = temporaryFolder(t);
  const server = await serveIn(t, folder);
  const { url, data } = server;
  const reviewer = await makeToken(data, { kind: "reviewer" });
  const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
  const { id } = (await new Agent(url, credential.token).post("k", SUBMISSION)).json;
  const path = `${url}/review/v1/requests/${id}`;
  const { arguments_sha256 } = (await exchange<{ arguments_sha256: string }>("GET", path, reviewer))
    .json;
  await exchange("POST", `${path}/verdict`, reviewer, { verdict: "approve", arguments_sha256 });
  await eventually("it is sealed", () => {
    const database = new DatabaseSync(join(data, "countersign.db"));
    try {
      const { size } = database.prepare("select size from audit_log").get() ?? {};
      const { n } = database.prepare("select count(*) as n from audit_entry").get() ?? {};
      return size === n ? true : undefined;
    } finally {
      database.close();
    }
  });
  copyFileSync(VERIFIER, join(folder, "verify.mjs"));
  await playGuide(t, "docs/guides/prove-a-decision.md", { folder, url }, { REQUEST: id });
});
