import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ALL_OPTIONS, environmentName, flagName } from "./options.ts";

const PAGE = join(import.meta.dirname, "../../../../docs/reference/config.md");
const LINES = readFileSync(PAGE, "utf8").split("\n");

for (const { name, default: fallback, secret, help, value } of ALL_OPTIONS) {
  test(`[ours.config.documented] the reference has a row for ${name} with its names, default and meaning`, () => {
    const row = LINES.find((line) => line.startsWith(`| \`${name}\` |`));
    assert.ok(row !== undefined, "it has no row");
    const [, , flag, variable, shown, meaning] = row.split("|").map((cell) => cell.trim());
    const usage = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
    assert.equal(flag, secret === true ? "" : `\`${usage}\``);
    assert.equal(variable, `\`${environmentName(name)}\``);
    assert.equal(shown, fallback ? `\`${fallback}\`` : "");
    assert.equal(meaning, help);
  });
}
