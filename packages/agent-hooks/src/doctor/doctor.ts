/**
 * Checks that the hook of one agent is installed, reaches the provider, and blocks calls.
 *
 * Promises: submits only the canary, and changes nothing except the list of MCP tools that the hook
 * reads.
 */

import { execFile } from "node:child_process";
import type { Agent } from "@countersign/agents";
import { typedCommand } from "@countersign/command-line";
import { probeProvider } from "@countersign/sdk";
import { refreshTools } from "../codex/refresh-tools.ts";
import type { InstallPlace } from "../install/install.ts";
import {
  deprecatedVariables,
  findDifferentVariables,
  HOOK_VARIABLES,
  type HookSettings,
  readHookSettings,
  SHARED,
} from "../profile/hook-settings.ts";
import { type Profile, readProfile } from "../profile/profile.ts";
import { tryWithAgent } from "./agent-trial.ts";
import { runCanaries } from "./canary.ts";
import { checkSettings } from "./check-settings.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** A larger difference can end an approval early: two clocks check its validity. */
const CLOCK_MS_MAX = 5_000;

export interface DoctorOrder {
  readonly place: InstallPlace;
  /** The project in which the agent would run. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Start the agent itself for a trial, if it is installed. */
  readonly withAgent: boolean;
}

export async function examine(order: DoctorOrder): Promise<Finding[]> {
  const { place, folder, environment, withAgent } = order;
  const { agent } = place;
  const typed = { ...place, program: typedCommand(place.program, environment) };
  const { profile, findings: first } = checkProfile(typed);
  const { settings, findings: second } = checkEnvironment(typed, profile, environment);
  const settingsCheck = checkSettings(place, profile, folder, environment);
  const third = settings === undefined ? [] : await checkProvider(typed, settings);
  // Skip the check that the provider was asked when it cannot be reached.
  const reachable = third.some(({ level }) => level === "fail") ? undefined : settings;
  const { hook } = settingsCheck;
  const canaries = hook === undefined ? [] : await runCanaries(agent, hook, reachable, environment);
  const { program } = agent;
  const version = program === undefined ? undefined : await versionOf(program, environment);
  const isTried = withAgent && version !== undefined && hook !== undefined;
  const trial =
    isTried && program !== undefined
      ? await tryWithAgent(place, program, folder, environment)
      : undefined;
  const tools = withAgent ? await REFRESH[agent.name]?.(place, environment) : undefined;
  return [
    ...first,
    ...second,
    ...settingsCheck.findings,
    ...third,
    ...canaries,
    ...checkVersion(agent, version),
    ...(trial === undefined ? [] : [trial]),
    ...(tools ?? []),
  ];
}

/** Lists that the hook of an agent reads. */
const REFRESH: Readonly<Record<string, typeof refreshTools>> = { codex: refreshTools };

function checkProfile({ agent, profile: path, program }: InstallPlace) {
  try {
    const profile = readProfile(path);
    if (profile !== undefined) {
      const text = `Only you can read ${path}.`;
      return { profile, findings: [ok("profile", text)] };
    }
    const advice = `Run: ${program} install ${agent.name} --url URL`;
    return { profile, findings: [fail("profile", `${path} does not exist.`, advice)] };
  } catch (error) {
    const text = `The profile cannot be used: ${Object(error).message}`;
    const advice = `Fix it, or run: ${program} install ${agent.name} --url URL`;
    return { profile: undefined, findings: [fail("profile", text, advice)] };
  }
}

function checkEnvironment(
  { agent, profile: path, program }: InstallPlace,
  profile: Profile | undefined,
  environment: NodeJS.ProcessEnv,
): { readonly settings: HookSettings | undefined; readonly findings: readonly Finding[] } {
  if (profile === undefined) return { settings: undefined, findings: [] };
  const setup = { agent: agent.name, profile: path, program };
  if (!profile.environment) {
    const others = HOOK_VARIABLES.filter((name) => environment[name] && !SHARED.includes(name));
    const ignored = [...findDifferentVariables(environment, profile), ...others];
    const text = `The hook ignores ${ignored.join(", ")}. Install with --environment to use it.`;
    const findings = ignored.length === 0 ? [] : [warn("environment", text)];
    return { settings: readHookSettings({ ...setup, environment: {} }), findings };
  }
  const findings = deprecatedVariables(environment).map((text) => {
    return warn("environment.deprecated", text);
  });
  try {
    return { settings: readHookSettings({ ...setup, environment }), findings };
  } catch (error) {
    const findings = [fail("environment", Object(error).message)];
    return { settings: undefined, findings };
  }
}

async function checkProvider(
  { agent, program }: InstallPlace,
  { url, token }: HookSettings,
): Promise<Finding[]> {
  const { kind, text, aheadMs } = await probeProvider(url, token);
  const advice = {
    works: undefined,
    refused: `Run: ${program} install ${agent.name} --url URL, with a new credential.`,
    unreachable: "Every call is blocked until it can be reached.",
  }[kind];
  const first =
    kind === "works"
      ? ok("provider", `${url}: ${text}`)
      : fail("provider", `${url}: ${text}`, advice);
  if (aheadMs === undefined || Math.abs(aheadMs) <= CLOCK_MS_MAX) return [first];
  const way = aheadMs > 0 ? "behind" : "ahead of";
  const apart = `This clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${way} the provider's.`;
  return [first, warn("clock", apart, "Approvals may end early. Synchronize the clock with NTP.")];
}

/** Reports what this version of the agent does with a call when its hook fails. */
function checkVersion({ program, title, failures }: Agent, text: string | undefined): Finding[] {
  if (program === undefined) return [];
  const version = /(\d+)\.(\d+)\.(\d+)/
    .exec(text ?? "")
    ?.slice(1)
    .map(Number);
  if (text === undefined || version === undefined) {
    const missing = `${program} is not on the PATH. Its version and a trial with it are missing.`;
    return [warn("version", missing, `Run doctor where ${program} starts.`)];
  }
  const seen = `${title} ${version.join(".")}`;
  const { killed, timeout, blocksSince } = failures;
  const isOld = blocksSince !== undefined && isOlder(version, blocksSince);
  if (!isOld && killed === "blocks" && timeout === "blocks") {
    return [ok("version", `${seen} blocks when the hook is stopped or times out.`)];
  }
  const advice = isOld
    ? `Upgrade to ${blocksSince.join(".")} or newer.`
    : "Keep the time limit of the hook above its wait, as install does.";
  return [warn("version", `${seen} runs a tool when its hook was stopped or timed out.`, advice)];
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
