/**
 * Starts the installed agent with a copy of the user's settings and a model stand-in that proposes
 * one call, and checks that the hook blocked it. This finds what no check of the settings can: a
 * file that this version of the agent ignores.
 *
 * The agent gets a false credential, a temporary configuration folder, and the stand-in as its
 * provider and proxy. The proposed command is the name of a program that does not exist.
 */

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, CANARY_PROGRAM, canaryReason } from "@countersign/agents";
import type { InstallPlace } from "../install/install.ts";
import { noOtherHost, STARTS, type Start } from "./agent-starts.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { type ModelStandIn, startModelStandIn } from "./model-stand-in.ts";

/** About ten times what a trial of the slowest agent takes on an idle machine. */
const TRIAL_MS_MAX = 180_000;

/** Variables that the agent gets. No other one: they may hold credentials or name a provider. */
const PASSED = ["HOME", "PATH", "SHELL", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TMPDIR"];

/** @returns undefined if no trial is known for this agent */
export async function tryWithAgent(
  place: InstallPlace,
  program: string,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<Finding | undefined> {
  const { agent } = place;
  const prepare = STARTS[agent.name];
  if (prepare === undefined) return undefined;
  const nonce = randomUUID();
  const configuration = realpathSync(mkdtempSync(join(tmpdir(), "countersign-doctor-")));
  const model = await startModelStandIn(`${CANARY_PROGRAM} ${nonce}`);
  try {
    const { args, variables, ended } = prepare(agent, configuration, model.url, environment);
    const passed = PASSED.flatMap((name): [string, string][] => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    });
    const env = { ...Object.fromEntries(passed), ...noOtherHost(model.url), ...variables };
    const printed = await runAgent(program, args, folder, env);
    return judge(agent, model, { reason: canaryReason(nonce), ended, printed });
  } catch (error) {
    const text = `The trial with ${agent.title} could not start: ${Object(error).message}`;
    return warn("agent.blocked", text, "Fix that, or skip the trial with --no-agent.");
  } finally {
    model.close();
    rmSync(configuration, { recursive: true, force: true });
  }
}

interface Trial {
  /** The hook's reason. */
  readonly reason: string;
  readonly ended: Start["ended"];
  readonly printed: string;
}

function judge(agent: Agent, model: ModelStandIn, { reason, ended, printed }: Trial): Finding {
  const check = "agent.blocked";
  const results = model.results();
  const isEnded = model.wasCalled() && results.length === 0 && (ended?.test(printed) ?? false);
  if (isEnded || results.some((result) => result.includes(reason))) {
    return ok(check, `${agent.title} itself loads the hook and does not run what it blocks.`);
  }
  const lines = printed
    .split("\n")
    .filter((line) => /settings|hooks?\b|error/i.test(line))
    .slice(0, 4)
    .map((line) => line.trim().slice(0, 300));
  const output = lines.length === 0 ? "" : ` It printed: ${lines.join(" ")}`;
  const isUnknown = results.every((result) =>
    /unsupported|no such tool|unknown tool/i.test(result),
  );
  if (!model.wasCalled() || isUnknown) {
    const text = `${agent.title} could not be started for a trial, so this is not proven.${output}`;
    return warn(check, text, "Skip the trial with --no-agent.");
  }
  const text = `${agent.title} runs calls without the hook: it does not load it.${output}`;
  return fail(check, text, "Fix the settings that it names, and check which hooks it lists.");
}

/** @returns what the agent printed */
function runAgent(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // In a process group of its own, so that its children are stopped with it.
  const child = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const timer = setTimeout(stop, TRIAL_MS_MAX);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      printed = `${printed}${text}`.slice(0, 65_536);
    });
  }
  child.once("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  child.once("close", () => {
    clearTimeout(timer);
    resolve(printed);
  });
  return promise;
}
