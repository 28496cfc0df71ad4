/** doctor finds configurations of OpenClaw that do not load the plugin. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { checkOpenClawConfig } from "../src/doctor/check-openclaw-config.ts";

test("[ours.adapters.doctor.finds] doctor reports a configuration of OpenClaw that does not load the plugin", (t) => {
  const folder = temporaryFolder(t);
  const plugin = join(folder, "countersign.mjs");
  const load = { paths: ["/other.mjs", plugin] };
  const entries = { countersign: { enabled: true } };
  const home = { paths: [`~/${relative(homedir(), plugin)}`] };
  const levels: readonly (readonly [plugins: object, level: string | undefined])[] = [
    [{ load, entries }, undefined],
    [{ load: home, entries }, undefined],
    [{ load, entries, allow: ["countersign"] }, undefined],
    [{}, "fail"],
    [{ load }, "fail"],
    [{ entries }, "fail"],
    [{ load, entries: { countersign: { enabled: false } } }, "fail"],
    [{ load, entries, enabled: false }, "fail"],
    [{ load, entries, allow: ["other"] }, "fail"],
    [{ load, entries, deny: ["countersign"] }, "fail"],
  ];
  const levelOf = () => checkOpenClawConfig(plugin)[0]?.level;
  assert.equal(levelOf(), "fail");
  for (const [plugins, level] of levels) {
    writeFileSync(join(folder, "openclaw.json"), JSON.stringify({ plugins }));
    assert.equal(levelOf(), level, JSON.stringify(plugins));
  }
  writeFileSync(join(folder, "openclaw.json"), "{ plugins: {} }");
  assert.equal(levelOf(), "warn");
});
