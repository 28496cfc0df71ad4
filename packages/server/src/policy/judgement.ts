/**
 * How policy judged a call, as it is kept with the request for good: which versions were in
 * force, which rules fired and why, and what deciding it takes. Publishing another policy
 * changes nothing in it.
 */

import { acceptsBotApprovals } from "./requirement.ts";
import { NO_REQUIREMENT, type Requirement, type RuleError, type Verb } from "./rule.ts";

/** A published version; the digest is of its source. */
export interface VersionRef {
  readonly number: number;
  readonly sha256: string;
}

export interface Judgement {
  readonly verb: Verb;
  /** As in an Evaluation. */
  readonly because: string;
  readonly fired: readonly string[];
  readonly errors: readonly RuleError[];
  /** Null where none was published. */
  readonly project: VersionRef | null;
  readonly floor: VersionRef | null;
  /** Why people are asked, in the words of the rule. */
  readonly note?: string;
  /** The longest that an approval by people may be used. */
  readonly validityMs?: number;
  /** What deciding takes, when people are asked. */
  readonly requirement?: Requirement;
}

/** What holds for a request of a time without any policy. */
export const UNJUDGED: Judgement = {
  verb: "ask",
  because: "no-policy",
  fired: [],
  errors: [],
  project: null,
  floor: null,
};

/** @returns JSON text; null for what needs no row of its own to be known */
export function writeJudgement(judgement: Judgement): string | null {
  return judgement.because === UNJUDGED.because ? null : JSON.stringify(judgement);
}

/** @param text as `writeJudgement` gave it */
export function readJudgement(text: string | null): Judgement {
  return text === null ? UNJUDGED : (JSON.parse(text) as Judgement);
}

/** What deciding a request takes. */
export function requirementOf(judgement: Judgement): Requirement {
  const requirement = judgement.requirement ?? NO_REQUIREMENT;
  return { ...requirement, bots: acceptsBotApprovals({ ...judgement, requirement }) };
}
