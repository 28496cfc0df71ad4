/**
 * The profile of one adapter: its provider and credential, how long a call may wait, which tools
 * are not asked about, and what install has changed, to be undone.
 *
 * Promises: read strictly; the file is the owner's alone; the token is in no error.
 */

import {
  Fields,
  formatDuration,
  JsonArray,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseDuration,
  parseJson,
} from "@countersign/protocol";
import { readOwnerOnly, replaceFile } from "./owner-only-file.ts";

/** The change that install made to one settings file. */
export interface Installed {
  /** As it was named; it may be a link. */
  readonly settings: string;
  /**
   * SHA-256 of the file as install leaves it, and as install found it. The file has one of the two
   * texts if install was killed, or nothing else has changed it.
   */
  readonly sha256: readonly string[];
  /** The exact inserted texts, one for each event, which uninstall finds and removes. */
  readonly inserted: readonly string[];
  /** The file as it was before; undefined when there was none. */
  readonly backup: string | undefined;
  readonly trust?: InstalledTrust | undefined;
}

/** Codex's record of a trusted hook, as install wrote it. */
export interface InstalledTrust {
  /** Path of `config.toml`. */
  readonly file: string;
  readonly key: string;
  /** The text `after` replaced the text `before`. */
  readonly before: string;
  readonly after: string;
  /** The file did not exist before. */
  readonly isNew: boolean;
}

export interface Profile {
  /** Of the provider. */
  readonly url: string;
  /** Secret: of the instance that speaks for this agent. */
  readonly token: string;
  /** When install made the instance. */
  readonly instanceId?: string | undefined;
  /** How long a call waits for its decision. */
  readonly waitMs: number;
  /** Tools that are left to the agent's own permissions; `*` matches any characters. */
  readonly leave: readonly string[];
  /** After an approval the agent's own permissions still ask. */
  readonly keepPrompts: boolean;
  /** The hook runs only where the agent would ask its own user. */
  readonly promptsOnly: boolean;
  /** With promptsOnly: the agent asks its own user if the provider is unreachable. */
  readonly localPrompt: boolean;
  /** Environment variables may override members of the profile. */
  readonly environment: boolean;
  /** Absolute path of a PEM file: certificate authorities that Node trusts besides its own. */
  readonly caFile?: string | undefined;
  /** Absolute: where used approvals are recorded. */
  readonly uses: string;
  readonly installed?: Installed | undefined;
}

export const WAIT_MS = 24 * 3_600_000;

/** As long as the contract lets anything be remembered. */
export const WAIT_MS_MAX = 168 * 3_600_000;

const MEMBERS = [
  "version",
  "url",
  "token",
  "instance_id",
  "wait",
  "leave",
  "keep_prompts",
  "prompts_only",
  "local_prompt",
  "environment",
  "ca_file",
  "uses",
  "installed",
];

/**
 * @returns undefined when there is none
 * @throws Problem, Error: what is wrong with it
 */
export function readProfile(path: string): Profile | undefined {
  const text = readOwnerOnly(path);
  return text === undefined ? undefined : parseProfile(text);
}

/** @throws Problem */
export function parseProfile(text: string): Profile {
  const fields = new Fields(parseJson(text), MEMBERS);
  const version = fields.value("version");
  if (!(version instanceof JsonNumber && version.source === "1")) {
    throw fields.invalid("version", "is not 1, the only one that this program reads");
  }
  const wait = fields.required("wait", fields.text("wait", 1));
  const waitMs = readWait(wait);
  if (waitMs === undefined) throw fields.invalid("wait", "must be from 1s to 168h, like 24h");
  return {
    url: fields.required("url", fields.text("url", 1)),
    token: fields.required("token", fields.text("token", 1)),
    instanceId: fields.text("instance_id", 1),
    waitMs,
    leave: readTexts(fields, "leave"),
    keepPrompts: readFlag(fields, "keep_prompts"),
    promptsOnly: readFlag(fields, "prompts_only"),
    localPrompt: readFlag(fields, "local_prompt"),
    environment: readFlag(fields, "environment"),
    caFile: fields.text("ca_file", 1),
    uses: fields.required("uses", fields.text("uses", 1)),
    installed: readInstalled(fields.object("installed")),
  };
}

export function writeProfile(path: string, profile: Profile): void {
  const { url, token, instanceId, waitMs, leave, keepPrompts, environment, uses } = profile;
  const { promptsOnly, localPrompt, caFile, installed } = profile;
  const text = JSON.stringify(
    {
      version: 1,
      url,
      token,
      instance_id: instanceId,
      wait: formatDuration(waitMs),
      leave,
      keep_prompts: keepPrompts,
      prompts_only: promptsOnly,
      local_prompt: localPrompt,
      environment,
      ca_file: caFile,
      uses,
      installed: installed && {
        settings: installed.settings,
        sha256: installed.sha256,
        inserted: installed.inserted,
        backup: installed.backup,
        trust: installed.trust && {
          file: installed.trust.file,
          key: installed.trust.key,
          before: installed.trust.before,
          after: installed.trust.after,
          is_new: installed.trust.isNew,
        },
      },
    },
    null,
    2,
  );
  replaceFile(path, `${text}\n`);
}

/** @returns milliseconds; undefined when it is not a wait that can be kept */
export function readWait(text: string): number | undefined {
  const waitMs = parseDuration(text);
  return waitMs !== undefined && waitMs <= WAIT_MS_MAX ? waitMs : undefined;
}

function readTexts(fields: Fields, name: string): string[] {
  const value: JsonValue | undefined = fields.value(name);
  if (value === undefined) return [];
  // Version 0.6 wrote one inserted text, and one digest.
  const isOfOldVersion = name === "inserted" || name === "sha256";
  if (typeof value === "string" && isOfOldVersion) return [value];
  const items = value instanceof JsonArray ? value.items : [undefined];
  return items.map((item) => {
    if (typeof item === "string" && item !== "") return item;
    throw fields.invalid(name, "must be a list of texts");
  });
}

function readFlag(fields: Fields, name: string): boolean {
  const value = fields.value(name) ?? false;
  if (typeof value !== "boolean") throw fields.invalid(name, "must be true or false");
  return value;
}

function readInstalled(value: JsonObject | undefined): Installed | undefined {
  if (value === undefined) return undefined;
  const names = ["settings", "sha256", "inserted", "backup", "trust"];
  const fields = new Fields(value, names, "installed");
  return {
    settings: fields.required("settings", fields.text("settings", 1)),
    sha256: readTexts(fields, "sha256"),
    inserted: readTexts(fields, "inserted"),
    backup: fields.text("backup", 0),
    trust: readTrust(fields.object("trust")),
  };
}

function readTrust(value: JsonObject | undefined): InstalledTrust | undefined {
  if (value === undefined) return undefined;
  const names = ["file", "key", "before", "after", "is_new"];
  const fields = new Fields(value, names, "installed.trust");
  return {
    file: fields.required("file", fields.text("file", 1)),
    key: fields.required("key", fields.text("key", 1)),
    before: fields.required("before", fields.text("before", 0)),
    after: fields.required("after", fields.text("after", 1)),
    isNew: readFlag(fields, "is_new"),
  };
}
