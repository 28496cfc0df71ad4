/**
 * The environment variables of the SDK: COUNTERSIGN_URL, COUNTERSIGN_API_KEY and
 * COUNTERSIGN_API_KEY_FILE, those of GitHub Actions, and NODE_ENV to reject predefined outcomes in
 * production. Runtimes without `process` have none of them.
 */

import { type ApiKeySource, keyFile } from "./api-key.ts";
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
  name: VariableName,
  environment: Environment = globalThis as Environment,
): string | undefined {
  const isOther = name !== "COUNTERSIGN_URL" && name !== "COUNTERSIGN_API_KEY";
  return read(name, isOther ? name : "COUNTERSIGN_URL,COUNTERSIGN_API_KEY", environment);
}

type VariableName =
  | "COUNTERSIGN_URL"
  | "COUNTERSIGN_API_KEY"
  | "COUNTERSIGN_API_KEY_FILE"
  | "ACTIONS_ID_TOKEN_REQUEST_URL"
  | "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

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
  readonly apiKey?: string | ApiKeySource | undefined;
}

/** @throws SdkError `invalid_option` */
export function readUrl(options: Pick<Given, "url">): string {
  const text = readOwn(options, "url") ?? readEnvironment("COUNTERSIGN_URL");
  if (text !== undefined) return text;
  const fix = "Set COUNTERSIGN_URL or pass url, such as http://localhost:8787.";
  throw new SdkError("invalid_option", `Missing provider URL. ${fix}`);
}

/** @throws SdkError `invalid_option` */
export function readApiKey(options: Given): string | ApiKeySource {
  const key = readOwn(options, "apiKey") ?? readEnvironment("COUNTERSIGN_API_KEY");
  if (key !== undefined) return key;
  const file = readOptional("COUNTERSIGN_API_KEY_FILE");
  if (file !== undefined) {
    const source = keyFile(file);
    // A missing file is an error at the start, not at the first call.
    source();
    return source;
  }
  const fix = "Set COUNTERSIGN_API_KEY or pass apiKey. Create one: countersign agents create NAME";
  throw new SdkError("invalid_option", `Missing API key. ${fix}`);
}

/** Without the permission to read the variable, it counts as not set. */
function readOptional(name: VariableName): string | undefined {
  try {
    return readEnvironment(name);
  } catch {
    return undefined;
  }
}

/**
 * A member that is undefined is an error: the key of the environment must not go to a server that
 * has its own key in a variable that is not set.
 *
 * @throws SdkError `invalid_option`
 */
function readOwn<N extends keyof Given>(options: Pick<Given, N>, name: N): Given[N] {
  if (!Object.hasOwn(options, name) || options[name] !== undefined) return options[name];
  const variable = name === "url" ? "COUNTERSIGN_URL" : "COUNTERSIGN_API_KEY";
  const fix = `Set its variable, or remove ${name} to use ${variable}.`;
  throw new SdkError("invalid_option", `${name} is undefined. ${fix}`);
}
