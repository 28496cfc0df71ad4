/** The exchanges about policies: those of the project and those of the floor are alike. */

import { call, callLines, type Finding } from "../../api.ts";

/** Whose policy: the project's own, or the floor that stands above all projects. */
export type Scope = "policy" | "floor";

/** A version without its source. */
export interface Outline {
  readonly number: number;
  readonly sha256: string;
  readonly note?: string;
  readonly published_at: string;
  /** Like `reviewer:ID`; `operator:cli` beside the database. */
  readonly published_by: string;
  /** Name of who published it; absent when that is nobody of this project. */
  readonly publisher?: string;
  /** Of who wrote it, where it was proposed. */
  readonly proposer?: string;
}

export interface Version extends Outline {
  readonly source: string;
}

/** What is in force; `number` 0 and no source where nothing was published yet. */
export type InForce = (Version | { readonly number: 0; readonly source?: undefined }) & {
  /** Whether what comes next takes another person than its author. */
  readonly two_person?: true;
};

/** What somebody wrote for another person to publish, without its source. */
export interface Proposal {
  readonly id: string;
  readonly state: "open" | "outdated" | "published" | "rejected";
  readonly base_number: number;
  readonly sha256: string;
  readonly note?: string;
  readonly tests: number;
  readonly proposed_at: string;
  /** `reviewer:ID`. */
  readonly proposed_by: string;
  readonly proposer?: string;
  /** Why this reader may not publish it. */
  readonly refusal?: string;
}

export interface TestResult {
  readonly index: number;
  readonly name: string;
  readonly line: number;
  readonly passed: boolean;
  readonly expected: string;
  readonly got: string;
}

/** What publishing a draft would say. */
export interface Check {
  readonly valid: boolean;
  /** How many. */
  readonly rules: number;
  readonly findings: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly tests: readonly TestResult[];
}

export function readPolicy(scope: Scope, signal: AbortSignal): Promise<InForce> {
  return call("GET", scope, { signal });
}

export function readVersion(scope: Scope, number: number): Promise<Version> {
  return call("GET", `${scope}/versions/${number}`);
}

export interface VersionPage {
  readonly versions: readonly Outline[];
  readonly next: number | null;
}

/** The newest first. */
export function readVersions(scope: Scope, after: number | undefined): Promise<VersionPage> {
  const from = after === undefined ? "" : `&after=${after}`;
  return call("GET", `${scope}/versions?limit=20${from}`);
}

export function checkDraft(scope: Scope, source: string, signal: AbortSignal): Promise<Check> {
  return call("POST", `${scope}/check`, { body: { source }, signal, timeoutMs: CHECK_MS });
}

/** Longer than the server lets a draft be examined. */
const CHECK_MS = 30_000;

export interface Publication {
  readonly source: string;
  /** The version that the draft began from. */
  readonly expectedNumber: number;
  readonly note: string;
}

/** @throws Refusal `policy_conflict` when another version is in force by now */
export function publish(
  scope: Scope,
  { source, expectedNumber, note }: Publication,
): Promise<Version> {
  const why = note.trim() === "" ? {} : { note };
  const body = { source, expected_number: expectedNumber, ...why };
  return call("POST", scope, { body, timeoutMs: CHECK_MS });
}

/** Publishes an older version's source as a new version. */
export function rollBack(scope: Scope, to: number, expectedNumber: number): Promise<Version> {
  const body = { number: to, expected_number: expectedNumber };
  return call("POST", `${scope}/rollback`, { body, timeoutMs: CHECK_MS });
}

export function readProposals(
  scope: Scope,
  signal: AbortSignal,
): Promise<{ readonly proposals: readonly Proposal[] }> {
  return call("GET", `${scope}/proposals?state=open&limit=50`, { signal });
}

export async function readProposedSource(scope: Scope, id: string): Promise<string> {
  return (await call<{ source: string }>("GET", `${scope}/proposals/${id}`)).source;
}

/** @param content a source, or the older version that is to come back */
export function propose(
  scope: Scope,
  content: { readonly source: string } | { readonly restores: number },
  { expectedNumber, note = "" }: Pick<Partial<Publication>, "note"> & { expectedNumber: number },
): Promise<Proposal> {
  const why = note.trim() === "" ? {} : { note };
  const body = { ...content, expected_number: expectedNumber, ...why };
  return call("POST", `${scope}/proposals`, { body, timeoutMs: CHECK_MS });
}

export function publishProposal(scope: Scope, id: string): Promise<Version> {
  return call("POST", `${scope}/proposals/${id}/publish`, { timeoutMs: CHECK_MS });
}

export function rejectProposal(scope: Scope, id: string, note: string): Promise<Proposal> {
  const body = note.trim() === "" ? {} : { note };
  return call("POST", `${scope}/proposals/${id}/reject`, { body });
}

export interface SimulationOrder {
  readonly source: string;
  /** Like `24h` or `168h`: how far back. */
  readonly since: string;
}

export interface Change {
  readonly event: "changed";
  readonly id: string;
  readonly tool: string;
  readonly instance: { readonly id: string; readonly name: string };
  readonly created_at: string;
  readonly was: string;
  readonly would_be: string;
  /** Where people are asked as before: what deciding would take that it did not. */
  readonly differs?: readonly string[];
  readonly because: string;
  readonly errors: readonly { readonly rule: string; readonly message: string }[];
  readonly status: string;
}

export interface Summary {
  readonly event: "summary";
  readonly replayed: number;
  readonly unchanged: number;
  /** Counts, by changes like `ask->approve`. */
  readonly changes: Readonly<Record<string, number>>;
  readonly requirement_changed: number;
  readonly errors: number;
  readonly unreadable: number;
  readonly ended: "all" | "limit" | "time";
}

export type SimulationEvent =
  | { readonly event: "started"; readonly total: number | null; readonly since: string }
  | { readonly event: "progress"; readonly replayed: number; readonly reached: string }
  | Change
  | Summary
  | { readonly event?: undefined; readonly error: { readonly message: string } };

/** What a draft would change of calls that were made; nothing is written. */
export async function* simulate(
  scope: Scope,
  { source, since }: SimulationOrder,
  signal: AbortSignal,
): AsyncGenerator<SimulationEvent> {
  const body = { source, since, examples: EXAMPLES };
  const lines = callLines("POST", `${scope}/simulate`, { body, signal });
  for await (const line of lines) yield JSON.parse(line) as SimulationEvent;
}

/** Listed of each kind of change; all are counted. */
const EXAMPLES = 50;
