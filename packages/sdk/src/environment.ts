/**
 * The environment variables of the SDK: COUNTERSIGN_URL and COUNTERSIGN_API_KEY, and NODE_ENV to
 * reject predefined outcomes in production. Runtimes without `process` have none of them.
 */

import { SdkError } from "./errors.ts";

/** A part of `globalThis`, which is not the same in all runtimes. */
interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

/** @throws SdkError `invalid_option` without the permission to read NODE_ENV */
export function isProduction(environment: Environment = globalThis as Environment): boolean {
  return read("NODE_ENV", "NODE_ENV", environment)?.toLowerCase() === "production";
}

/**
 * @returns undefined for a missing or empty variable
 * @throws SdkError `invalid_option` without the permission to read it
 */
export function readEnvironment(
  name: "COUNTERSIGN_URL" | "COUNTERSIGN_API_KEY",
  environment: Environment = globalThis as Environment,
): string | undefined {
  return read(name, "COUNTERSIGN_URL,COUNTERSIGN_API_KEY", environment);
}

function read(name: string, allow: string, environment: Environment): string | undefined {
  try {
    return environment.process?.env?.[name]?.trim() || undefined;
  } catch (cause) {
    const message = `This program has no permission to read the environment variable ${name}.`;
    const fix = `Start Deno with --allow-env=${allow}.`;
    throw new SdkError("invalid_option", `${message} ${fix}`, { cause });
  }
}

/** Options that have a variable as their default. */
interface Given {
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
}

/** @throws SdkError `invalid_option` */
export function readUrl(options: Given): string {
  const text = readOwn(options, "url") ?? readEnvironment("COUNTERSIGN_URL");
  if (text !== undefined) return text;
  const fix = "Set COUNTERSIGN_URL or pass url, such as http://localhost:8787.";
  throw new SdkError("invalid_option", `Missing provider URL. ${fix}`);
}

/** @throws SdkError `invalid_option` */
export function readApiKey(options: Given): string {
  const text = readOwn(options, "apiKey") ?? readEnvironment("COUNTERSIGN_API_KEY");
  if (text !== undefined) return text;
  const fix = "Set COUNTERSIGN_API_KEY or pass apiKey. Create one: countersign agents create NAME";
  throw new SdkError("invalid_option", `Missing API key. ${fix}`);
}

/**
 * A member that is undefined is an error: the key of the environment must not go to a server that
 * has its own key in a variable that is not set.
 *
 * @throws SdkError `invalid_option`
 */
function readOwn(options: Given, name: "url" | "apiKey"): string | undefined {
  if (!Object.hasOwn(options, name) || options[name] !== undefined) return options[name];
  const variable = name === "url" ? "COUNTERSIGN_URL" : "COUNTERSIGN_API_KEY";
  const fix = `Set its variable, or remove ${name} to use ${variable}.`;
  throw new SdkError("invalid_option", `${name} is undefined. ${fix}`);
}
