import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FRAMEWORK_STORIES } from "./framework-stories.ts";
import { GO_EXTENDED, GO_STORIES } from "./go-stories.ts";
import { GO_COMMAND, judgeInstall, PYTHON_PACKAGE, pythonFault } from "./obtain.ts";
import { PYTHON_DEPARTURES } from "./python-departures.ts";
import { PYTHON_EXTENDED } from "./python-extensions.ts";
import { PYTHON_STORIES } from "./python-stories.ts";
import {
  type ClientName,
  exitCodeOf,
  renderRow,
  renderStory,
  renderSummary,
  type StoryOutcome,
  type StoryResult,
  shortReason,
} from "./story.ts";

const PAGE = join(import.meta.dirname, "../../docs/reference/interop.md");

const PASSED: StoryOutcome = { kind: "passed" };
const FAILED: StoryOutcome = { kind: "failed", reason: "403 is not 200" };
const SKIPPED: StoryOutcome = { kind: "skipped", reason: "there is no go\nspawn go ENOENT" };

function resultOf(client: ClientName, outcome: StoryOutcome, isDeparture = false): StoryResult {
  return { client, title: "install", isDeparture, outcome };
}

test("a run fails for a story that failed, and for no client that could not be had", () => {
  assert.equal(exitCodeOf([resultOf("python", PASSED), resultOf("go", SKIPPED)], []), 0);
  assert.equal(exitCodeOf([resultOf("python", FAILED), resultOf("go", SKIPPED)], []), 1);
  assert.equal(exitCodeOf([resultOf("python", FAILED, true)], []), 1);
});

test("a client that is required has to be there", () => {
  assert.equal(exitCodeOf([resultOf("go", SKIPPED)], ["python"]), 0);
  assert.equal(exitCodeOf([resultOf("go", SKIPPED)], ["python", "go"]), 1);
});

test("the closing lines count expected differences and name clients that were not tested", () => {
  const all = [
    resultOf("python", PASSED),
    resultOf("python", PASSED, true),
    resultOf("go", SKIPPED),
  ];
  assert.deepEqual(renderSummary(all), [
    "1 passed, 0 failed, 1 skipped, 1 expected difference",
    "NOT TESTED: this run did not test the go client.",
    "Differences from the contract: see docs/reference/interop.md.",
  ]);
  assert.deepEqual(renderSummary([resultOf("python", FAILED)]), [
    "0 passed, 1 failed, 0 skipped, 0 expected differences",
  ]);
});

test("each story is a line, with the reason below where it did not pass", () => {
  assert.equal(renderStory(resultOf("python", PASSED)), "ok       python: install");
  assert.equal(renderStory(resultOf("python", PASSED, true)), "differs  python: install");
  assert.equal(
    renderStory(resultOf("go", SKIPPED)),
    "SKIPPED  go: install\n            there is no go\n            spawn go ENOENT",
  );
});

test("a skipped story shows the command and the last line of its output", () => {
  const long = "go install ended with 1:\ngo: reading the module:\n\t403 Forbidden";
  assert.equal(shortReason(long), "go install ended with 1: 403 Forbidden");
  assert.equal(shortReason("python3 is 3.9"), "python3 is 3.9");
});

test("a wheel that is not the pinned one is a fault, whatever else may be absent", () => {
  const output = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.";
  assert.equal(judgeInstall({ code: 1, output }, "pip install").kind, "wrong");
  const mismatch = "verifying module: checksum mismatch\nSECURITY ERROR";
  assert.equal(judgeInstall({ code: 1, output: mismatch }, "go install").kind, "wrong");
});

test("a missing program is reported with the last lines of its installation", () => {
  const output = "one\ntwo\n\nthree\nfour\n403 Forbidden\n";
  const reason = "go install ended with 1:\ntwo\nthree\nfour\n403 Forbidden";
  assert.deepEqual(judgeInstall({ code: 1, output }, "go install"), { kind: "absent", reason });
  const absent = judgeInstall({ code: undefined, output: "" }, "pip install");
  const late = "pip install did not run, or not to its end in time:\n(it said nothing)";
  assert.deepEqual(absent, { kind: "absent", reason: late });
});

test("a Python that the pinned wheels do not run on is an absent one", () => {
  assert.equal(pythonFault({ code: 0, output: "3 11\n" }), undefined);
  assert.equal(pythonFault({ code: 0, output: "4 0\n" }), undefined);
  const old = "python3 is 3.9; the pinned wheels need 3.11";
  assert.equal(pythonFault({ code: 0, output: "3 9\n" }), old);
  const none = "there is no python3: spawn python3 ENOENT";
  assert.equal(pythonFault({ code: undefined, output: "spawn python3 ENOENT" }), none);
});

test("the page has exactly the rows of the tested differences", () => {
  const rows = readFileSync(PAGE, "utf8")
    .split("\n")
    .filter((line) => /^\| (?:Python|Go) /.test(line));
  const measured = PYTHON_DEPARTURES.map((each) => renderRow("Python 0.3.3", each));
  assert.deepEqual(rows, measured);
});

test("the page names the releases that are pinned", () => {
  const page = readFileSync(PAGE, "utf8");
  const [name, version] = PYTHON_PACKAGE.split(" ");
  assert.ok(page.includes(`| \`${name}\`, Python | ${version} |`));
  assert.ok(page.includes(`| \`aap\`, Go | ${GO_COMMAND.split("@")[1]} |`));
  const requirements = readFileSync(join(import.meta.dirname, "requirements.txt"), "utf8");
  assert.ok(requirements.includes(`${name}==${version} --hash=sha256:`));
});

test("no two stories have the same title: a reader finds the one that failed", () => {
  const admitted = PYTHON_DEPARTURES.map((departure) => departure.admitted);
  const python = [...PYTHON_STORIES, ...PYTHON_DEPARTURES, ...admitted, ...PYTHON_EXTENDED];
  const all = [python, FRAMEWORK_STORIES, GO_STORIES, GO_EXTENDED].flat();
  const titles = all.map(({ title }) => title);
  assert.equal(new Set(titles).size, titles.length);
});
