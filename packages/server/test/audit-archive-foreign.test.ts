// Tier: slow
// Needs: go-tools
/**
 * An archive, verified by a program of others: the library of Go's checksum database, which is a
 * transparency log too. tools/go-tools/transparency only reads the lines of the files for it.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { temporaryFolder } from "@countersign/testing/child";
import { goTools } from "../../../tools/go-tools/tools.ts";
import { archiveAll, filesIn } from "./support/audit-archive.ts";
import { logOf, untilSealed } from "./support/audit-logs.ts";
import { startScene } from "./support/scene.ts";

/** More than a seal, and no power of two. */
const REQUESTS = 150;

test("[ours.audit-archive.files] the library of Go's checksum database verifies every file, and finds one changed byte", async (t) => {
  const scene = await startScene(t);
  const directory = temporaryFolder(t);
  for (let run = 0; run < 2; run++) {
    for (let i = 0; i < REQUESTS; i++) await scene.server.submit(scene.instance.token);
    await untilSealed(scene);
    await archiveAll(scene, { directory });
  }
  const { origin, size } = await logOf(scene);
  const folder = join(directory, origin.split("/").slice(-2).join("-"));
  const files = filesIn(folder);
  assert.equal(files.length, 2);
  const verify = () => {
    const args = [join(folder, "log.key"), ...files];
    return spawnSync(goTools().program("transparency"), args, { encoding: "utf8" });
  };
  const { status, stdout, stderr } = verify();
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`^${size} entries, \\d+ checkpoints\n$`));

  const [first = ""] = files;
  const text = gunzipSync(readFileSync(first)).toString();
  writeFileSync(
    first,
    gzipSync(text.replace('"kind":"request.opened"', '"kind":"request.openeD"')),
  );
  const changed = verify();
  assert.equal(changed.status, 1);
  assert.match(changed.stderr, /the checkpoint of \d+ entries differs/);
});
