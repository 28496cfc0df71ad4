/** The steps of a plan: data for display, and the call that performs them. */

import { createHash } from "node:crypto";
import type { ReviewerApi } from "../reviewer-api.ts";

export type Verb = "create" | "change" | "delete";

/** The result of a step that the server accepted. */
export interface StepResult {
  /** The action of a person before the change takes effect; absent: it took effect. */
  readonly waitsFor?: string;
  /** Displayed by the server once; written to the secret file. */
  readonly secret?: string;
}

export interface Step {
  readonly verb: Verb;
  readonly kind: string;
  readonly name: string;
  /** The differences, a line each. No secrets. */
  readonly details: readonly string[];
  /** Present: an earlier apply sent the change, and another person must act. */
  readonly waitsFor?: string | undefined;
  /** A variable or file of a secret that is needed and not there. */
  readonly missing?: string | undefined;
  /** Name of the file for the secret that the server creates. */
  readonly secretFile?: string | undefined;
  run(api: ReviewerApi): Promise<StepResult>;
}

/** The steps of one kind. */
export interface Planned {
  readonly steps: readonly Step[];
  /** Deletions of what has no document. They run only with `--prune`. */
  readonly surplus: readonly Step[];
  /** The values that cannot be compared, a sentence each. */
  readonly notes?: readonly string[];
}

/** File systems limit names to 255 bytes; the kind and the suffix need at most 27. */
const SAFE_CHARS_MAX = 200;

/** A file name for a secret, unique for the name. Names of agents may contain any character. */
export function secretFileOf(kind: string, name: string, suffix: string): string {
  const safe = name.replace(/[^A-Za-z0-9._-]/gu, (character) => {
    return `%${Buffer.from(character).toString("hex")}`;
  });
  const digest = createHash("sha256").update(name).digest("hex");
  const short = safe.length > SAFE_CHARS_MAX ? `${safe.slice(0, 100)}~${digest}` : safe;
  return `${kind.toLowerCase()}-${short}.${suffix}`;
}

/** A line for each member that differs, like `role: viewer -> admin`. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] {
  return Object.keys(after).flatMap((key) => {
    const [old, young] = [textOf(before[key]), textOf(after[key])];
    return old === young ? [] : [`${key}: ${old} -> ${young}`];
  });
}

function textOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.join(", ");
  return String(value);
}
