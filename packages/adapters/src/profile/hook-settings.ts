/**
 * What the hook goes by: the profile, and the environment where the profile lets it speak or where
 * there is none.
 *
 * A project's settings can set variables for an agent and its hooks. With a variable in it, whoever
 * writes to a repository could name another provider, which approves everything: so next to a
 * profile the environment is refused, not followed, unless the profile says that it may speak.
 */

import { isAbsolute } from "node:path";
import { profileFile, usesFolder } from "./folders.ts";
import { type Profile, readProfile, readWait, WAIT_MS } from "./profile.ts";

const VARIABLES = {
  url: "COUNTERSIGN_ADAPTER_URL",
  token: "COUNTERSIGN_ADAPTER_TOKEN",
  wait: "COUNTERSIGN_ADAPTER_WAIT",
  leave: "COUNTERSIGN_ADAPTER_LEAVE",
  keepPrompts: "COUNTERSIGN_ADAPTER_KEEP_PROMPTS",
} as const;

/** What Node makes of its own variables: another place to ask, and an answer from anybody. */
const MISLEADING: Readonly<Record<string, string>> = {
  NODE_USE_ENV_PROXY: "1",
  NODE_TLS_REJECT_UNAUTHORIZED: "0",
};

export type HookSettings = Omit<Profile, "installed" | "instanceId" | "environment">;

/**
 * @param name of the adapter
 * @param path of the profile, as install has put it into the command; found by name without it
 * @throws Problem, Error: why the hook cannot ask
 */
export function readHookSettings(
  name: string,
  path: string | undefined,
  environment: NodeJS.ProcessEnv,
): HookSettings {
  if (path !== undefined && !isAbsolute(path)) throw new Error("--profile must be absolute.");
  const file = path ?? profileFile(name, environment);
  const profile = readProfile(file);
  const misleading = Object.keys(MISLEADING).filter((variable) => {
    return environment[variable] === MISLEADING[variable];
  });
  const set = Object.values(VARIABLES).filter((variable) => environment[variable]);
  const given = [...set, ...misleading];
  if (profile === undefined && path !== undefined) throw new Error(`There is no ${path}.`);
  if (profile !== undefined && !profile.environment) {
    if (given.length === 0) return profile;
    const advice = `is set, and ${file} does not let the environment speak`;
    throw new Error(`${given.join(", ")} ${advice}; unset it, or install with --environment.`);
  }
  const { url, token, wait, leave, keepPrompts } = VARIABLES;
  return {
    url: pick(environment[url], profile?.url, url, file),
    token: pick(environment[token], profile?.token, token, file),
    waitMs: waitOf(environment[wait], profile, file) ?? profile?.waitMs ?? WAIT_MS,
    leave: environment[leave] ? namesIn(environment[leave]) : (profile?.leave ?? []),
    keepPrompts: flagOf(environment[keepPrompts]) ?? profile?.keepPrompts ?? false,
    uses: profile?.uses ?? usesFolder(name, environment),
  };
}

/** Names of tools, as people list them. */
export function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function pick(
  given: string | undefined,
  kept: string | undefined,
  variable: string,
  file: string,
): string {
  const value = given || kept;
  if (value !== undefined) return value;
  throw new Error(`There is no ${file}, and ${variable} is not set: run countersign install.`);
}

/** The agent's limit for the hook is that of the profile: past it, it may run the tool. */
function waitOf(
  text: string | undefined,
  profile: Profile | undefined,
  file: string,
): number | undefined {
  if (!text) return undefined;
  const waitMs = readWait(text);
  if (waitMs === undefined) throw new Error(`${VARIABLES.wait} must be from 1s to 168h, like 24h.`);
  if (profile === undefined || waitMs <= profile.waitMs) return waitMs;
  const advice = "unset it, or install with a longer --wait";
  throw new Error(`${VARIABLES.wait} is longer than the wait of ${file}; ${advice}.`);
}

function flagOf(text: string | undefined): boolean | undefined {
  if (!text) return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw new Error(`${VARIABLES.keepPrompts} must be true or false.`);
}
