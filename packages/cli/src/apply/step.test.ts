import assert from "node:assert/strict";
import { test } from "node:test";
import { secretFileOf } from "./step.ts";

test("[ours.apply.secrets] two names have two secret files, with safe characters and up to 255 bytes", () => {
  const long = "運".repeat(512);
  const names = ["a/b", "a%2fb", "../a", "\u{1f600}", "\u{1f601}", `${long}a`, `${long}b`];
  const files = names.map((name) => secretFileOf("Provisioner", name, "signing-secret"));
  assert.equal(new Set(files).size, names.length);
  for (const file of files) {
    assert.match(file, /^provisioner-[A-Za-z0-9._%~-]+\.signing-secret$/);
    assert.ok(file.length <= 255, file);
  }
});
