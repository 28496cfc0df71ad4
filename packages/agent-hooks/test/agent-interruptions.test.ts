/**
 * Every supported agent: install and uninstall stop at each change of a file, as after SIGKILL, and
 * run again.
 */

import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { before, mock, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { AGENTS } from "@countersign/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { findHooks, handlerOf } from "../src/install/agent-settings.ts";
import { entryFor, type InstallPlace, uninstall } from "../src/install/install.ts";
import { readProfile } from "../src/profile/profile.ts";
import { existingSettings, installAt, placeIn } from "./support/agent-story.ts";

const PROVIDER = { url: "http://localhost:9", token: "cs_inst_secret" };
const SHORT_MS = 60_000;
const LONG_MS = 120_000;

/** The texts of files, by their path. */
type Files = Readonly<Record<string, string>>;

interface Story {
  readonly name: string;
  /** Brings the files to the state before the change. */
  prepare(place: InstallPlace): void;
  change(place: InstallPlace): void;
}

const STORIES: readonly Story[] = [
  { name: "install", prepare: () => {}, change: (place) => installFor(place, SHORT_MS) },
  {
    name: "install with a longer wait",
    prepare: (place) => installFor(place, SHORT_MS),
    change: (place) => installFor(place, LONG_MS),
  },
  {
    name: "install with a shorter wait",
    prepare: (place) => installFor(place, LONG_MS),
    change: (place) => installFor(place, SHORT_MS),
  },
  { name: "uninstall", prepare: (place) => installFor(place, SHORT_MS), change: remove },
];

before(() => {
  // A killed process loses no written data, only a crash of the machine does.
  mock.method(fs, "fsyncSync", () => {});
  syncBuiltinESMExports();
});

for (const agent of AGENTS) {
  test(`[ours.adapters.agents.interrupted] ${agent.name}: a killed install or uninstall leaves whole files, and a second one completes`, (t) => {
    for (const text of new Set([undefined, existingSettings(agent)])) {
      for (const story of STORIES) {
        const place = placeIn(temporaryFolder(t), agent);
        assertWhole(place, text, story);
      }
    }
  });
}

function assertWhole(place: InstallPlace, text: string | undefined, story: Story): void {
  const { agent, home, settings, profile } = place;
  fs.mkdirSync(dirname(settings), { recursive: true });
  if (text !== undefined) fs.writeFileSync(settings, text);
  const original = filesBelow(home);
  story.prepare(place);
  const before = filesBelow(home);
  story.change(place);
  const after = filesBelow(home);
  const waitMs = readProfile(profile)?.waitMs;
  const withoutProfile = (files: Files) => ({ ...files, [profile]: "" });
  for (let step = 0; ; step++) {
    const what = `${agent.name}, ${story.name}, step ${step}`;
    restore(home, before);
    if (!isInterrupted(() => story.change(place), step)) {
      assert.ok(step > 2, what);
      return;
    }
    for (const [path, now] of Object.entries(filesBelow(home))) {
      const isWhole = path === profile || path.endsWith(".draft");
      assert.ok(isWhole || now === before[path] || now === after[path], `${what}: ${path}`);
    }
    assertAgreement(place, what);
    story.change(place);
    assert.equal(readProfile(profile)?.waitMs, waitMs, what);
    assert.deepEqual(withoutProfile(filesBelow(home)), withoutProfile(after), what);
    remove(place);
    assert.deepEqual(filesBelow(home), original, what);
  }
}

/** A hook in the settings has a profile, and ends before the limit in the settings. */
function assertAgreement(place: InstallPlace, what: string): void {
  const { agent, settings, profile } = place;
  const known = readProfile(profile);
  const text = fs.existsSync(settings) ? fs.readFileSync(settings, "utf8") : "";
  for (const { value } of findHooks(agent, text).own) {
    assert.ok(known !== undefined, what);
    const permitted = [LONG_MS, SHORT_MS].find((waitMs) => {
      const options = { waitMs, promptsOnly: false, environment: false };
      return isDeepStrictEqual({ ...value }, handlerOf(agent.settings, entryFor(place, options)));
    });
    assert.ok(permitted !== undefined && known.waitMs <= permitted, what);
  }
}

function installFor(place: InstallPlace, waitMs: number): void {
  installAt(place, { ...PROVIDER, waitMs });
}

function remove({ agent, profile, settings }: InstallPlace): void {
  uninstall(agent, profile, settings);
}

/** The functions that change files. */
const CHANGES = [
  "chmodSync",
  "mkdirSync",
  "openSync",
  "renameSync",
  "rmSync",
  "writeFileSync",
] as const;

/**
 * Runs the change until this many calls have changed files. The next calls fail, so the files stay
 * as after SIGKILL.
 *
 * @returns false if the change needs no more calls
 */
function isInterrupted(change: () => void, calls: number): boolean {
  let left = calls;
  const real = CHANGES.map((name) => [name, fs[name]] as const);
  for (const [name, changes] of real) {
    const call = changes as (...args: unknown[]) => unknown;
    const interrupted = (...args: unknown[]) => {
      if (name === "openSync" && args[1] === "r") return call(...args);
      if (left === 0 && name === "writeFileSync") call(args[0], String(args[1]).slice(0, 9));
      left--;
      if (left < 0) throw new Error("interrupted");
      return call(...args);
    };
    Object.assign(fs, { [name]: interrupted });
  }
  syncBuiltinESMExports();
  try {
    change();
  } catch (error) {
    if (left >= 0) throw error;
  } finally {
    Object.assign(fs, Object.fromEntries(real));
    syncBuiltinESMExports();
  }
  return left < 0;
}

function filesBelow(folder: string): Files {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(paths.map((path) => [path, fs.readFileSync(path, "utf8")]));
}

function restore(folder: string, files: Files): void {
  for (const path of Object.keys(filesBelow(folder))) fs.rmSync(path);
  for (const [path, text] of Object.entries(files)) {
    fs.writeFileSync(path, text, { mode: 0o600 });
  }
}
