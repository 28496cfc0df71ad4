import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import type { ReviewerApi } from "../reviewer-api.ts";
import { runSteps } from "./run-steps.ts";
import { SecretFolder } from "./secret-folder.ts";
import type { Step } from "./step.ts";

/** The steps here call nothing. */
const NO_API = {} as ReviewerApi;

test("[ours.apply.failure] a secret file that cannot be created fails its step, and the applied steps are reported", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "taken"), "precious");
  const called: string[] = [];
  const stepOf = (name: string, secretFile?: string): Step => ({
    verb: "create",
    kind: "Agent",
    name,
    details: [],
    secretFile,
    async run() {
      called.push(name);
      return {};
    },
  });
  for (const [secrets, file, code] of [
    [folder, "taken", "EEXIST"],
    [folder, "a".repeat(300), "ENAMETOOLONG"],
    [join(folder, "taken", "below"), "b", "ENOTDIR"],
  ] as const) {
    called.length = 0;
    const steps = [stepOf("first"), stepOf("second", file), stepOf("third")];
    const outcome = await runSteps(steps, NO_API, new SecretFolder(secrets), () => {});
    const { applied, failed, notApplied } = outcome;
    assert.deepEqual(called, ["first"]);
    assert.deepEqual([applied, notApplied], [[steps[0]], [steps[2]]]);
    assert.match(failed?.error.message ?? "", new RegExp(`cannot be created \\(${code}\\)$`));
  }
});
