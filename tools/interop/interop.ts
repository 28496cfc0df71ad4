/**
 * Clients that others wrote against a real server: installs the protocol's own Python package and
 * Go command into a scratch folder, starts Countersign on loopback, and plays the stories.
 *
 * `npm run interop` ends with 1 when a story fails. A client that cannot be had (no Python, no Go,
 * no network) is not a failure: its stories are listed as skipped, with the reason, and the last
 * lines say that nothing is known of it. `--require python,go` makes its absence one.
 *
 * Each client is played with twice: with a server as it is, and with one that admits what the
 * client sends beyond the contract.
 *
 * Frameworks that the Python package has integrations for are large: `--frameworks` installs them
 * as well. The Go command is tried with `--go`, or `--aap FILE` for one built elsewhere: its
 * stories were written from its source and have not met it yet.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { FRAMEWORK_STORIES } from "./framework-stories.ts";
import { GO_EXTENDED, GO_STORIES, type GoScene } from "./go-stories.ts";
import {
  GO_COMMAND,
  type Obtained,
  obtainFrameworks,
  obtainGo,
  obtainPython,
  PYTHON_PACKAGE,
} from "./obtain.ts";
import { startPythonClient } from "./python-client.ts";
import { PYTHON_DEPARTURES } from "./python-departures.ts";
import { PYTHON_EXTENDED } from "./python-extensions.ts";
import { PYTHON_STORIES, type PythonScene } from "./python-stories.ts";
import { type Stage, setStage } from "./stage.ts";
import {
  type ClientName,
  type Departure,
  exitCodeOf,
  renderStory,
  renderSummary,
  type Story,
  type StoryOutcome,
  type StoryResult,
  shortReason,
} from "./story.ts";

/** Once; and of each of two servers: bounds of a machine that is busy. */
const INSTALL_MS_MAX = 40_000;
const STORIES_MS_MAX = 60_000;

/** Of frameworks, each: some 40 packages, which take a while to be loaded, too. */
const FRAMEWORKS_MS_MAX = 300_000;

const ALL_EXTENSIONS = "consume,outcome,server";

const { values } = parseArgs({
  options: {
    require: { type: "string", default: "" },
    go: { type: "boolean", default: false },
    frameworks: { type: "boolean", default: false },
    aap: { type: "string" },
  },
});
const required = values.require.split(",").filter((name) => name !== "") as ClientName[];
for (const name of required) {
  if (!["python", "frameworks", "go"].includes(name))
    throw new Error(`--require knows no client ${name}`);
}

const results: StoryResult[] = [];

function record(client: ClientName, story: Story<never>, outcome: StoryOutcome): void {
  const isDeparture = "row" in story;
  const one = { client, title: story.title, isDeparture, outcome };
  results.push(one);
  console.log(renderStory(one));
}

async function play<Scene>(
  client: ClientName,
  stories: readonly (Story<Scene> | Departure<Scene>)[],
  scene: Scene,
): Promise<void> {
  for (const story of stories) {
    try {
      await story.play(scene);
      record(client, story, { kind: "passed" });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      record(client, story, { kind: "failed", reason });
    }
  }
}

const ADMITTED = PYTHON_DEPARTURES.map(({ admitted }) => admitted);
const PYTHON_PLAYED = [...PYTHON_STORIES, ...PYTHON_DEPARTURES, ...ADMITTED, ...PYTHON_EXTENDED];

/** Plays these stories with a process of its own. */
async function playPython(
  client: ClientName,
  stories: readonly (Story<PythonScene> | Departure<PythonScene>)[],
  stage: Stage,
  program: string,
  signal: AbortSignal,
): Promise<void> {
  const process = startPythonClient(program, stage.url, signal);
  try {
    const scene: PythonScene = {
      stage,
      client: process,
      program,
      token: await stage.newInstance(),
    };
    await play(client, stories, scene);
  } finally {
    await process.stop();
  }
}

/** Gives what is played a server of its own. */
async function onStage(
  name: string,
  signal: AbortSignal,
  extensions: string,
  playAll: (stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await setStage(join(folder, name), signal, extensions);
  try {
    await playAll(stage);
  } finally {
    await stage.stop();
  }
}

/** @returns the program; records the outcome of all stories where there is none */
function programOf<Scene>(
  client: ClientName,
  obtained: Obtained,
  stories: readonly Story<Scene>[],
): string | undefined {
  if (obtained.kind === "had") return obtained.program;
  const kind = obtained.kind === "wrong" ? "failed" : "skipped";
  console.log(`\nThe ${client} client cannot be had here:\n${obtained.reason}\n`);
  const reason = shortReason(obtained.reason);
  for (const story of stories) record(client, story, { kind, reason });
  return undefined;
}

async function goCommand(installing: AbortSignal): Promise<Obtained> {
  if (values.aap !== undefined) return { kind: "had", program: resolve(values.aap) };
  if (values.go || required.includes("go")) return obtainGo(folder, installing);
  return { kind: "absent", reason: "it is tried with --go, or --aap FILE" };
}

async function frameworks(python: string | undefined): Promise<Obtained> {
  if (!values.frameworks && !required.includes("frameworks")) {
    return { kind: "absent", reason: "they are tried with --frameworks" };
  }
  if (python === undefined) return { kind: "absent", reason: "there is no Python package" };
  return obtainFrameworks(python, AbortSignal.timeout(FRAMEWORKS_MS_MAX));
}

const folder = await mkdtemp(join(tmpdir(), "countersign-interop-"));
try {
  const goSource = values.aap ?? GO_COMMAND;
  console.log(`Installing ${PYTHON_PACKAGE} (Python)\n       and ${goSource}`);
  const installing = AbortSignal.timeout(INSTALL_MS_MAX);
  const [python, go] = await Promise.all([obtainPython(folder, installing), goCommand(installing)]);
  const pythonProgram = programOf("python", python, PYTHON_PLAYED);
  const obtained = await frameworks(pythonProgram);
  const frameworkProgram = programOf("frameworks", obtained, FRAMEWORK_STORIES);
  const goProgram = programOf("go", go, [...GO_STORIES, ...GO_EXTENDED]);
  if (pythonProgram !== undefined || goProgram !== undefined) {
    for (const [name, extensions, pythonStories, goStories] of [
      ["plain", "", [...PYTHON_STORIES, ...PYTHON_DEPARTURES], GO_STORIES],
      ["extended", ALL_EXTENSIONS, [...ADMITTED, ...PYTHON_EXTENDED], GO_EXTENDED],
    ] as const) {
      const signal = AbortSignal.timeout(STORIES_MS_MAX);
      await onStage(name, signal, extensions, async (stage) => {
        if (pythonProgram !== undefined) {
          await playPython("python", pythonStories, stage, pythonProgram, signal);
        }
        if (goProgram === undefined) return;
        const scene: GoScene = {
          stage,
          program: goProgram,
          home: join(folder, `${name}-home`),
          signal,
        };
        await play("go", goStories, scene);
      });
    }
  }
  if (frameworkProgram !== undefined) {
    const patient = AbortSignal.timeout(FRAMEWORKS_MS_MAX);
    await onStage("frameworks", patient, ALL_EXTENSIONS, (stage) =>
      playPython("frameworks", FRAMEWORK_STORIES, stage, frameworkProgram, patient),
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`\n${renderSummary(results).join("\n")}`);
process.exitCode = exitCodeOf(results, required);
