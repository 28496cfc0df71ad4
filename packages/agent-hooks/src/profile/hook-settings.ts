/**
 * The settings of the hook: the profile, and environment variables if the profile allows them or
 * does not exist.
 *
 * A project's settings can set variables for an agent and its hooks. A repository could so name
 * another provider that approves everything. With a profile, the hook therefore never uses these
 * variables unless the profile allows them: it ignores the URL and the key, and rejects the others.
 */

import { isAbsolute } from "node:path";
import { keyFile } from "@countersign/sdk";
import { profileFile, usesFolder } from "./folders.ts";
import { type Profile, readProfile, readWait, WAIT_MS } from "./profile.ts";

/** A setup that the hook cannot use. The message goes to the model: it names no file. */
export class UnusableSetup extends Error {}

const VARIABLES = {
  url: "COUNTERSIGN_URL",
  token: "COUNTERSIGN_API_KEY",
  /** Names a file with the key. Only used without COUNTERSIGN_API_KEY. */
  keyFile: "COUNTERSIGN_API_KEY_FILE",
  wait: "COUNTERSIGN_HOOK_WAIT",
  leave: "COUNTERSIGN_HOOK_LEAVE",
  keepPrompts: "COUNTERSIGN_HOOK_KEEP_PROMPTS",
} as const;

/** Accepted until the next version. */
const DEPRECATED: Readonly<Record<string, string>> = {
  COUNTERSIGN_ADAPTER_URL: VARIABLES.url,
  COUNTERSIGN_ADAPTER_TOKEN: VARIABLES.token,
  COUNTERSIGN_ADAPTER_WAIT: VARIABLES.wait,
  COUNTERSIGN_ADAPTER_LEAVE: VARIABLES.leave,
  COUNTERSIGN_ADAPTER_KEEP_PROMPTS: VARIABLES.keepPrompts,
};

/** Users set these for other programs too. They never override a profile by accident. */
export const SHARED: readonly string[] = [VARIABLES.url, VARIABLES.token, VARIABLES.keyFile];

export const HOOK_VARIABLES: readonly string[] = [
  ...Object.values(VARIABLES),
  ...Object.keys(DEPRECATED),
];

/**
 * One sentence for each deprecated variable that is set. The hook itself prints none, because an
 * agent interprets its output.
 */
export function deprecatedVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(DEPRECATED)
    .filter(([old]) => environment[old])
    .map(([old, name]) => `${old} is deprecated. Set ${name} instead.`);
}

/** Variables of the provider that are set and have another value than the profile. */
export function findDifferentVariables(
  environment: NodeJS.ProcessEnv,
  profile: Pick<Profile, "url" | "token">,
): string[] {
  return (["url", "token"] as const)
    .filter((member) => {
      const value = environment[VARIABLES[member]];
      return value && value !== profile[member];
    })
    .map((member) => VARIABLES[member]);
}

/** The environment with deprecated variables under their new names. A new name wins. */
function withNewNames(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const renamed: NodeJS.ProcessEnv = {};
  for (const [old, name] of Object.entries(DEPRECATED)) {
    if (environment[old] && !environment[name]) renamed[name] = environment[old];
  }
  return { ...environment, ...renamed };
}

/** Variables of Node that send requests through a proxy or accept any certificate. */
const MISLEADING: Readonly<Record<string, string>> = {
  NODE_USE_ENV_PROXY: "1",
  NODE_TLS_REJECT_UNAUTHORIZED: "0",
};

export type HookSettings = Omit<Profile, "installed" | "instanceId" | "environment" | "caFile">;

export interface HookSetup {
  /** Name of the agent. */
  readonly agent: string;
  /** Path of the profile, as install wrote it into the command. Default: by the agent's name. */
  readonly profile: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
  /** Name of the program, for commands that error messages recommend. */
  readonly program: string;
}

/** @throws UnusableSetup, Problem; Error with the path of the profile */
export function readHookSettings(setup: HookSetup): HookSettings {
  const { agent: name, profile: path, program } = setup;
  const environment = withNewNames(setup.environment);
  const install = `${program} install`;
  if (path !== undefined && !isAbsolute(path))
    throw new UnusableSetup("--profile must be an absolute path.");
  const file = path ?? profileFile(name, environment);
  const profile = readProfile(file);
  const misleading = Object.keys(MISLEADING).filter((variable) => {
    return environment[variable] === MISLEADING[variable];
  });
  const set = HOOK_VARIABLES.filter((variable) => {
    return setup.environment[variable] && !SHARED.includes(variable);
  });
  const overrides = [...set, ...misleading];
  if (profile === undefined && path !== undefined) {
    throw new UnusableSetup(`The profile does not exist. Run: ${install} ${name}`);
  }
  if (profile !== undefined && !profile.environment) {
    if (overrides.length === 0) return profile;
    const advice = `Unset it, or run: ${install} ${name} --environment`;
    throw new UnusableSetup(
      `The profile does not allow ${overrides.join(", ")} in the environment. ${advice}`,
    );
  }
  const { url, token, wait, leave, keepPrompts } = VARIABLES;
  const key = environment[token] || keyIn(environment[VARIABLES.keyFile]);
  return {
    url: pick(environment[url], profile?.url, url, `${install} ${name}`),
    token: pick(key, profile?.token, token, `${install} ${name}`),
    waitMs: waitOf(environment[wait], profile, install) ?? profile?.waitMs ?? WAIT_MS,
    leave: environment[leave] ? namesIn(environment[leave]) : (profile?.leave ?? []),
    keepPrompts: flagOf(environment[keepPrompts]) ?? profile?.keepPrompts ?? false,
    promptsOnly: profile?.promptsOnly ?? false,
    localPrompt: profile?.localPrompt ?? false,
    uses: profile?.uses ?? usesFolder(name, environment),
  };
}

/** Tool names in a list separated by commas. */
export function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** @throws UnusableSetup for a file that the hook cannot read */
function keyIn(file: string | undefined): string | undefined {
  if (!file) return undefined;
  try {
    return keyFile(file)();
  } catch {
    throw new UnusableSetup(`${VARIABLES.keyFile} does not name a readable file with a key.`);
  }
}

function pick(
  override: string | undefined,
  kept: string | undefined,
  variable: string,
  install: string,
): string {
  const value = override || kept;
  if (value !== undefined) return value;
  throw new UnusableSetup(`No profile exists and ${variable} is not set. Run: ${install}`);
}

/** The agent's time limit is based on the profile. After it, the agent may run the tool. */
function waitOf(
  text: string | undefined,
  profile: Profile | undefined,
  install: string,
): number | undefined {
  if (!text) return undefined;
  const waitMs = readWait(text);
  if (waitMs === undefined) {
    throw new UnusableSetup(`${VARIABLES.wait} must be from 1s to 168h, like 24h.`);
  }
  if (profile === undefined || waitMs <= profile.waitMs) return waitMs;
  const advice = `Unset it, or run ${install} with a longer --wait.`;
  throw new UnusableSetup(`${VARIABLES.wait} is longer than the wait of the profile. ${advice}`);
}

function flagOf(text: string | undefined): boolean | undefined {
  if (!text) return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw new UnusableSetup(`${VARIABLES.keepPrompts} must be true or false.`);
}
