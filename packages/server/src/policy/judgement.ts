/**
 * The stored judgement of a call: the active versions, the rules that fired with reasons, and the
 * requirement of a decision. Publishing another policy does not change it.
 */

import { acceptsBotApprovals } from "./requirement.ts";
import { NO_REQUIREMENT, type Requirement, type RuleError, type Verb } from "./rule.ts";

/** A published version, with the digest of its source. */
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
  /** Null when no version was published. */
  readonly project: VersionRef | null;
  readonly floor: VersionRef | null;
  /** The rule's explanation for reviewers. */
  readonly note?: string;
  /** Maximum validity of an approval by reviewers. */
  readonly validityMs?: number;
  /** The requirement of a decision by reviewers. */
  readonly requirement?: Requirement;
}

/** The judgement of a request from before policies existed. */
export const UNJUDGED: Judgement = {
  verb: "ask",
  because: "no-policy",
  fired: [],
  errors: [],
  project: null,
  floor: null,
};

/** @returns JSON text; null for the default, which needs no column value */
export function writeJudgement(judgement: Judgement): string | null {
  return judgement.because === UNJUDGED.because ? null : JSON.stringify(judgement);
}

/** @param text from `writeJudgement` */
export function readJudgement(text: string | null): Judgement {
  return text === null ? UNJUDGED : (JSON.parse(text) as Judgement);
}

/** The requirement of a request's decision. */
export function requirementOf(judgement: Judgement): Requirement {
  const requirement = judgement.requirement ?? NO_REQUIREMENT;
  return { ...requirement, bots: acceptsBotApprovals({ ...judgement, requirement }) };
}
