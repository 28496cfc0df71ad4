// Tier: slow
// Needs: python3
/** The SCIM API against scim2-tester, which checks servers against RFC 7643 and RFC 7644. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "@countersign/testing/child";
import { obtainPython } from "../../../tools/interop/obtain.ts";
import { createScimToken } from "../src/index.ts";
import { startTestProvider } from "./support/test-provider.ts";

const TOOL = join(import.meta.dirname, "../../../tools/scim");

/** Of the tool, for two kinds of resources. */
const CHECKS_MIN = 60;

test("[ours.scim.protocol] scim2-tester finds no error", async (t) => {
  const folder = temporaryFolder(t);
  const requirements = join(TOOL, "requirements.txt");
  const obtained = await obtainPython(folder, t.signal, requirements);
  assert.ok(obtained.kind === "had", "reason" in obtained ? obtained.reason : "");
  const settings = { provisioner_rate: "0", oidc_role_default: "reviewer", oidc_groups: "*" };
  const server = await startTestProvider(t, { settings });
  const order = { name: "scim2-tester", expiresAt: null };
  const { token } = await createScimToken(server.provider.context, order);
  const args = [join(TOOL, "check_server.py"), `${server.url}/scim/v2`, token];
  const { stdout } = await promisify(execFile)(obtained.program, args, { signal: t.signal });
  const [, successful = "0"] = /(\d+) success/.exec(stdout) ?? [];
  assert.ok(Number(successful) >= CHECKS_MIN, stdout);
  // The server has no search over several kinds of resources.
  assert.match(
    stdout.trim(),
    /^(SKIPPED: (User|Group) search_with_attributes: .*\n){2}2 skipped, /,
  );
});
