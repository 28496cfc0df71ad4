/**
 * Reads the settings of one run: command line, then environment, then config file, then the
 * table's defaults. Every fault is named at once, so that a person mends them in one go.
 */

import { readFileSync, statSync } from "node:fs";
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

/** What the operator wrote is wrong; the message lists every fault, one to a line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Flags by option name, as the command line gave them. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** The settings, and what the environment says of itself. */
export type ConfigValues = OptionValues & {
  /** NODE_ENV is `production`. */
  readonly production: boolean;
};

interface Source {
  /** How a message names it: `--port`, `COUNTERSIGN_PORT`, `port in FILE`. */
  readonly label: string;
  readonly raw: string;
}

/**
 * @param variables pass `process.env`; read nowhere else
 * @throws ConfigError
 */
export function readConfig(flags: Flags, variables: Environment = process.env): ConfigValues {
  const environment = withoutServiceLinks(variables);
  const faults: string[] = unknownVariables(environment);
  const file = readConfigFile(flags, environment, faults);
  const values = ALL_OPTIONS.map((option) => {
    const source = findSource(option, flags, environment, file);
    if (source === undefined) return [option.name, undefined];
    const value = readValue(option, source.raw);
    // A secret is never repeated, also not in the message about its form.
    const shown = option.secret ? "[secret]" : JSON.stringify(source.raw);
    if (value === undefined) faults.push(`${source.label}: ${shown} is not ${FORMS[option.type]}`);
    if (isExposed(option, flags)) {
      faults.push(
        `${source.label}: a password is not taken here, where other users can read it; ` +
          `set ${environmentName(option.name)}`,
      );
    }
    return [option.name, value];
  });
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  const isProduction = environment.NODE_ENV === "production";
  return { ...Object.fromEntries(values), production: isProduction } as ConfigValues;
}

/** Whether the command line holds a password. */
function isExposed({ name, secret }: Option, flags: Flags): boolean {
  const url = secret === "password" ? String(flags[name] ?? "") : "";
  return URL.canParse(url) && (new URL(url).password !== "" || /[?&]password=/i.test(url));
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
        `config file ${path}: every user of this machine can change it; run chmod o-w ${path}`,
      );
    }
    parsed = yaml().parse(readFileSync(path, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    faults.push(`config file ${path}: ${reason}`);
    return new Map();
  }
  if (parsed === null) return new Map();
  if (typeof parsed !== "object" || Array.isArray(parsed)) {
    faults.push(`config file ${path}: must hold settings by name`);
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

/** Windows reports every file as writable by all. */
function isWritableByOthers(path: string): boolean {
  return process.platform !== "win32" && (statSync(path).mode & 0o002) !== 0;
}

/** Costs a start time and memory that only those should pay who have such a file. */
function yaml(): typeof import("yaml") {
  return createRequire(import.meta.url)("yaml") as typeof import("yaml");
}
