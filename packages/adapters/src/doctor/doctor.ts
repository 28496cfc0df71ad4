/**
 * Whether the hook of one agent is there, can ask, and really blocks.
 *
 * Called by: the command doctor.
 * Promises: changes nothing; the canary is all that anybody is asked.
 */

import { execFile } from "node:child_process";
import type { Agent } from "../agents.ts";
import type { InstallPlace } from "../install/install.ts";
import { probeProvider } from "../install/provide-credential.ts";
import {
  ADAPTER_VARIABLES,
  type HookSettings,
  readHookSettings,
} from "../profile/hook-settings.ts";
import { type Profile, readProfile } from "../profile/profile.ts";
import { tryWithAgent } from "./agent-trial.ts";
import { releaseCanaries } from "./canary.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { lookAtSettings } from "./look-at-settings.ts";

/** An approval that has little time left is judged by two clocks. */
const CLOCK_MS_MAX = 5_000;

/** Since when a hook that fails blocks. */
const CLAUDE_CODE_MIN = [2, 1, 295] as const;

export interface DoctorOrder {
  readonly place: InstallPlace;
  /** The project in which the agent would run. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Start the agent itself for a trial, where it is installed. */
  readonly withAgent: boolean;
}

export async function examine(order: DoctorOrder): Promise<Finding[]> {
  const { place, folder, environment, withAgent } = order;
  const { agent } = place;
  const { profile, findings: first } = lookAtProfile(place);
  const { settings, findings: second } = lookAtEnvironment(place, profile, environment);
  const look = lookAtSettings(place, profile, folder);
  const third = settings === undefined ? [] : await lookAtProvider(agent, settings);
  // Whether it was asked is not asked of who does not answer.
  const asked = third.some(({ level }) => level === "fail") ? undefined : settings;
  const canaries =
    look.command === undefined
      ? []
      : await releaseCanaries(agent, look.command, asked, environment);
  const program = agent.name === "claude-code" ? "claude" : "codex";
  const version = await versionOf(program, environment);
  const trial =
    withAgent && version !== undefined && look.command !== undefined
      ? [await tryWithAgent(place, program, folder, environment)]
      : [];
  return [
    ...first,
    ...second,
    ...look.findings,
    ...third,
    ...canaries,
    lookAtVersion(agent, program, version),
    ...trial,
  ];
}

function lookAtProfile({ agent, profile: path }: InstallPlace) {
  try {
    const profile = readProfile(path);
    if (profile !== undefined) {
      const text = `${path} is readable by you alone.`;
      return { profile, findings: [ok("profile", text)] };
    }
    const advice = `Run: countersign install ${agent.name} --url URL`;
    return { profile, findings: [fail("profile", `There is no ${path}.`, advice)] };
  } catch (error) {
    const text = `The profile cannot be used: ${Object(error).message}`;
    const advice = `Mend it, or run: countersign install ${agent.name} --url URL`;
    return { profile: undefined, findings: [fail("profile", text, advice)] };
  }
}

function lookAtEnvironment(
  { agent, profile: path }: InstallPlace,
  profile: Profile | undefined,
  environment: NodeJS.ProcessEnv,
): { readonly settings: HookSettings | undefined; readonly findings: readonly Finding[] } {
  if (profile === undefined) return { settings: undefined, findings: [] };
  const given = ADAPTER_VARIABLES.filter((name) => environment[name]);
  if (!profile.environment) {
    const text = `The hook ignores ${given.join(", ")}. Install with --environment to use it.`;
    const findings = given.length === 0 ? [] : [warn("environment", text)];
    return { settings: readHookSettings(agent.name, path, {}), findings };
  }
  try {
    return { settings: readHookSettings(agent.name, path, environment), findings: [] };
  } catch (error) {
    const findings = [fail("environment", Object(error).message)];
    return { settings: undefined, findings };
  }
}

async function lookAtProvider({ name }: Agent, { url, token }: HookSettings): Promise<Finding[]> {
  const { kind, text, aheadMs } = await probeProvider(url, token);
  const advice = {
    works: undefined,
    refused: `Run: countersign install ${name} --url URL, with a new credential.`,
    unreachable: "Every call is blocked until it answers.",
  }[kind];
  const first =
    kind === "works"
      ? ok("provider", `${url}: ${text}`)
      : fail("provider", `${url}: ${text}`, advice);
  if (aheadMs === undefined || Math.abs(aheadMs) <= CLOCK_MS_MAX) return [first];
  const way = aheadMs > 0 ? "behind" : "ahead of";
  const apart = `This clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${way} the provider's.`;
  return [first, warn("clock", apart, "Approvals may end early: set it by NTP.")];
}

/** Where the agent is installed: whether it is one that this was made for. */
function lookAtVersion(agent: Agent, program: string, text: string | undefined): Finding {
  const version = /(\d+)\.(\d+)\.(\d+)/
    .exec(text ?? "")
    ?.slice(1)
    .map(Number);
  if (text === undefined || version === undefined) {
    const missing = `${program} is not on the PATH. Its version and a trial with it are missing.`;
    return warn("version", missing, `Run doctor where ${program} starts.`);
  }
  const seen = `${agent.title} ${version.join(".")}`;
  if (agent.name === "codex") {
    const advice = "Keep the time limit of the hook above its wait, as install does.";
    return warn("version", `${seen} runs a tool whose hook was stopped or timed out.`, advice);
  }
  if (isOlder(version, CLAUDE_CODE_MIN)) {
    const advice = `Upgrade to ${CLAUDE_CODE_MIN.join(".")} or newer.`;
    return warn("version", `${seen} runs a tool whose hook was stopped or timed out.`, advice);
  }
  return ok("version", `${seen} blocks when the hook is stopped or times out.`);
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const at = than.findIndex((number, index) => version[index] !== number);
  return at !== -1 && (version[at] ?? 0) < (than[at] ?? 0);
}

function versionOf(program: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { env: environment, timeout: 10_000, encoding: "utf8" } as const;
    execFile(program, ["--version"], options, (error, stdout) => {
      resolve(error === null ? stdout : undefined);
    });
  });
}
