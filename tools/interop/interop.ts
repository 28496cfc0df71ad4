/**
 * Clients that others wrote against a real server: installs the protocol's own Python package and
 * Go command into a scratch folder, starts Countersign on loopback, and plays the stories.
 *
 * `npm run interop` ends with 1 when a story fails. A client that cannot be had (no Python, no Go,
 * no network) is no failure: its stories are named as skipped, with the reason, and the last lines
 * say that nothing is known of it. `--require python,go` makes its absence one.
 *
 * The Go command is tried with `--go`, or `--aap FILE` for one built elsewhere: its stories
 * were written from its source and have not met it yet.
 *
 * Called by: people, and .ci/run.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { GO_STORIES, type GoScene } from "./go-stories.ts";
import { GO_COMMAND, type Obtained, obtainGo, obtainPython, PYTHON_PACKAGE } from "./obtain.ts";
import { startPythonClient } from "./python-client.ts";
import { PYTHON_DEPARTURES } from "./python-departures.ts";
import { PYTHON_STORIES, type PythonScene } from "./python-stories.ts";
import { type Stage, setStage } from "./stage.ts";
import {
  type ClientName,
  type Departure,
  type Ending,
  exitCodeOf,
  renderStory,
  renderSummary,
  type Story,
  shortReason,
  type Told,
} from "./story.ts";

/** Both together bound the run below 90 s, the ends of processes included. */
const INSTALL_MS_MAX = 40_000;
const STORIES_MS_MAX = 35_000;

const { values } = parseArgs({
  options: {
    require: { type: "string", default: "" },
    go: { type: "boolean", default: false },
    aap: { type: "string" },
  },
});
const required = values.require.split(",").filter((name) => name !== "") as ClientName[];
for (const name of required) {
  if (name !== "python" && name !== "go") throw new Error(`--require knows no client ${name}`);
}

const told: Told[] = [];

function tell(client: ClientName, story: Story<never>, ending: Ending): void {
  const isDeparture = "row" in story;
  const one = { client, title: story.title, isDeparture, ending };
  told.push(one);
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
      tell(client, story, { kind: "passed" });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      tell(client, story, { kind: "failed", reason });
    }
  }
}

async function playPython(stage: Stage, program: string, signal: AbortSignal): Promise<void> {
  const client = startPythonClient(program, stage.url, signal);
  try {
    const scene: PythonScene = { stage, client, token: await stage.newInstance() };
    await play("python", [...PYTHON_STORIES, ...PYTHON_DEPARTURES], scene);
  } finally {
    await client.stop();
  }
}

/** @returns the program; tells what becomes of all stories where there is none */
function programOf<Scene>(
  client: ClientName,
  obtained: Obtained,
  stories: readonly Story<Scene>[],
): string | undefined {
  if (obtained.kind === "had") return obtained.program;
  const kind = obtained.kind === "wrong" ? "failed" : "skipped";
  console.log(`\nThe ${client} client cannot be had here:\n${obtained.reason}\n`);
  const reason = shortReason(obtained.reason);
  for (const story of stories) tell(client, story, { kind, reason });
  return undefined;
}

async function goCommand(installing: AbortSignal): Promise<Obtained> {
  if (values.aap !== undefined) return { kind: "had", program: resolve(values.aap) };
  if (values.go || required.includes("go")) return obtainGo(folder, installing);
  return { kind: "absent", reason: "it is tried with --go, or --aap FILE" };
}

const folder = await mkdtemp(join(tmpdir(), "countersign-interop-"));
try {
  const goSource = values.aap ?? GO_COMMAND;
  console.log(`Installing ${PYTHON_PACKAGE} (Python)\n       and ${goSource}`);
  const installing = AbortSignal.timeout(INSTALL_MS_MAX);
  const [python, go] = await Promise.all([obtainPython(folder, installing), goCommand(installing)]);
  const pythonProgram = programOf("python", python, [...PYTHON_STORIES, ...PYTHON_DEPARTURES]);
  const goProgram = programOf("go", go, GO_STORIES);
  if (pythonProgram !== undefined || goProgram !== undefined) {
    const signal = AbortSignal.timeout(STORIES_MS_MAX);
    const stage = await setStage(join(folder, "server"), signal);
    try {
      if (pythonProgram !== undefined) await playPython(stage, pythonProgram, signal);
      if (goProgram !== undefined) {
        const scene: GoScene = { stage, program: goProgram, home: join(folder, "home"), signal };
        await play("go", GO_STORIES, scene);
      }
    } finally {
      await stage.stop();
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`\n${renderSummary(told).join("\n")}`);
process.exitCode = exitCodeOf(told, required);
