/**
 * Reads the settings of one run. The command line overrides the environment, which overrides the
 * config file, which overrides the defaults. A variable with `_FILE` at its end names a file with
 * the secret. One error lists all faults.
 */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { parseDuration } from "@countersign/protocol";
import { type Environment, unknownVariables, withoutServiceLinks } from "./environment.ts";
import {
  ALL_OPTIONS,
  environmentName,
  flagName,
  type Option,
  type OptionValues,
} from "./options.ts";
import { readSecretFiles } from "./secret-files.ts";

/** Invalid settings. The message has one line for each fault. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Flags of the command line, by option name. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** The settings, and facts from the environment. */
export type ConfigValues = OptionValues & {
  /** True when NODE_ENV is `production`. */
  readonly production: boolean;
};

interface Source {
  /** Name in messages: `--port`, `COUNTERSIGN_PORT`, `port in FILE`. */
  readonly label: string;
  readonly raw: string;
}

/**
 * @param variables environment variables; the only place that reads them
 * @throws ConfigError
 */
export function readConfig(flags: Flags, variables: Environment = process.env): ConfigValues {
  const given = withoutServiceLinks(variables);
  const faults: string[] = unknownVariables(given);
  const environment = readSecretFiles(given, faults);
  const file = readConfigFile(flags, environment, faults);
  const values = ALL_OPTIONS.map((option) => {
    const source = findSource(option, flags, environment, file);
    if (source === undefined) return [option.name, undefined];
    const value = readValue(option, source.raw);
    // Messages never repeat a secret.
    const shown = option.secret ? "[secret]" : JSON.stringify(source.raw);
    if (value === undefined) faults.push(`${source.label}: ${shown} is not ${FORMS[option.type]}`);
    if (isExposed(option, flags)) {
      faults.push(
        `${source.label}: passwords are not accepted here, because other users can read them; ` +
          `set ${environmentName(option.name)}`,
      );
    }
    return [option.name, value];
  });
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  const isProduction = environment.NODE_ENV === "production";
  return { ...Object.fromEntries(values), production: isProduction } as ConfigValues;
}

/** True when the command line contains a password. */
function isExposed(option: Option, flags: Flags): boolean {
  return hasPassword(option, String(flags[option.name] ?? ""));
}

function hasPassword(option: Option | undefined, value: string): boolean {
  if (option?.secret !== "password" || !URL.canParse(value)) return false;
  return new URL(value).password !== "" || /[?&]password=/i.test(value);
}

const FORMS: Readonly<Record<Option["type"], string>> = {
  text: "a text",
  integer: "a whole number",
  duration: "a duration like 90s, 5m or 24h",
  flag: "true or false",
};

function findSource(
  option: Option,
  flags: Flags,
  environment: Environment,
  file: ReadonlyMap<string, string>,
): Source | undefined {
  const { name } = option;
  const flag = flags[name];
  if (flag !== undefined) return { label: flagName(name), raw: String(flag) };
  const variable = environment[environmentName(name)];
  if (variable !== undefined) return { label: environmentName(name), raw: variable };
  const entry = file.get(name);
  if (entry !== undefined) return { label: `${name} in the config file`, raw: entry };
  if (option.default === undefined) return undefined;
  return { label: `${name} by default`, raw: option.default };
}

function readValue({ type }: Option, raw: string): string | number | boolean | undefined {
  switch (type) {
    case "text":
      return raw;
    case "integer":
      return /^\d{1,15}$/.test(raw) ? Number(raw) : undefined;
    case "duration": {
      const ms = parseDuration(raw);
      return ms !== undefined && ms <= Number.MAX_SAFE_INTEGER ? ms : undefined;
    }
    case "flag":
      return raw === "true" ? true : raw === "false" ? false : undefined;
  }
}

function readConfigFile(
  flags: Flags,
  environment: Environment,
  faults: string[],
): ReadonlyMap<string, string> {
  const path = flags.config ?? environment[environmentName("config")];
  if (typeof path !== "string") return new Map();
  let parsed: unknown;
  try {
    if (isWritableByOthers(path)) {
      faults.push(
        `config file ${path}: every user of this machine can write to it; run chmod o-w ${path}`,
      );
    }
    parsed = yaml().parse(readFileSync(path, "utf8"));
    if (isReadableByOthers(path) && hasSecret(parsed)) {
      faults.push(
        `config file ${path}: it contains a secret, and every user of this machine can read it; ` +
          `run chmod o-r ${path}`,
      );
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    faults.push(`config file ${path}: ${reason}`);
    return new Map();
  }
  if (parsed === null) return new Map();
  if (typeof parsed !== "object" || Array.isArray(parsed)) {
    faults.push(`config file ${path}: must contain settings by name`);
    return new Map();
  }
  const entries: [string, string][] = [];
  for (const [name, value] of Object.entries(parsed)) {
    if (!ALL_OPTIONS.some((option) => option.name === name)) {
      faults.push(`config file ${path}: unknown setting ${JSON.stringify(name)}`);
    } else if (typeof value === "object") {
      faults.push(`config file ${path}: ${name} must be a single value`);
    } else {
      entries.push([name, String(value)]);
    }
  }
  return new Map(entries);
}

/** Windows reports every file as writable by all users. */
export function isWritableByOthers(path: string): boolean {
  return process.platform !== "win32" && (statSync(path).mode & 0o002) !== 0;
}

/**
 * False for a file of another user or on a read-only mount, such as a secret in a container: this
 * user cannot change its mode.
 */
function isReadableByOthers(path: string): boolean {
  const { mode, uid } = statSync(path);
  return uid === process.getuid?.() && (mode & 0o004) !== 0 && isWritable(path);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function hasSecret(parsed: unknown): boolean {
  if (typeof parsed !== "object" || parsed === null) return false;
  return Object.entries(parsed).some(([name, value]) => {
    const option = ALL_OPTIONS.find((one) => one.name === name);
    return option?.secret === true || hasPassword(option, String(value));
  });
}

/** Loaded on demand, to save start time and memory for servers without a config file. */
function yaml(): typeof import("yaml") {
  return createRequire(import.meta.url)("yaml") as typeof import("yaml");
}
