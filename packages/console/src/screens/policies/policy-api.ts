/** The policy API, for the project's policy and for the baseline policy. */

import type {
  PolicyPath,
  PolicyProposal,
  PublishedPolicy,
  ShownPolicy,
} from "@countersign/review-api";
import { api } from "../../api.ts";

/** Longer than the server lets a draft be examined. */
const CHECK_MS = 30_000;

/** Listed of each kind of change; all are counted. */
const EXAMPLES = 1_000;

/** Undefined where no version is published. */
export function sourceOf(active: ShownPolicy): string | undefined {
  return "source" in active ? active.source : undefined;
}

export function readPolicy(scope: PolicyPath, signal: AbortSignal) {
  return api.call(`GET /${scope}`, { signal });
}

export async function readVersionSource(scope: PolicyPath, number: number) {
  const path = { number: String(number) };
  return sourceOf(await api.call(`GET /${scope}/versions/{number}`, { path }));
}

/** The newest first. */
export function readVersions(scope: PolicyPath, after: number | undefined) {
  const query = { limit: "20", after: after?.toString() };
  return api.call(`GET /${scope}/versions`, { query });
}

/** How past calls of the project used its rules, and the names for new rules. */
export function readUsage(signal: AbortSignal) {
  return api.call("GET /policy/usage", { signal });
}

export function checkDraft(scope: PolicyPath, source: string, signal: AbortSignal) {
  return api.call(`POST /${scope}/check`, { body: { source }, signal, timeoutMs: CHECK_MS });
}

export interface Publication {
  readonly source: string;
  /** The version that the draft began from. */
  readonly expectedNumber: number;
  readonly note: string;
}

/** @throws Refusal `policy_conflict` when another version has become active */
export function publish(
  scope: PolicyPath,
  { source, expectedNumber, note }: Publication,
): Promise<PublishedPolicy> {
  const body = { source, expected_number: expectedNumber, note: noteOf(note) };
  return api.call(`POST /${scope}`, { body, timeoutMs: CHECK_MS });
}

/** Publishes an older version's source as a new version. */
export function rollBack(
  scope: PolicyPath,
  to: number,
  expectedNumber: number,
): Promise<PublishedPolicy> {
  const body = { number: to, expected_number: expectedNumber };
  return api.call(`POST /${scope}/rollback`, { body, timeoutMs: CHECK_MS });
}

export function readProposals(scope: PolicyPath, signal: AbortSignal) {
  const query = { state: "open", limit: "50" } as const;
  return api.call(`GET /${scope}/proposals`, { query, signal });
}

export async function readProposedSource(scope: PolicyPath, id: string): Promise<string> {
  return (await api.call(`GET /${scope}/proposals/{id}`, { path: { id } })).source;
}

/** @param content a source, or the older version that is to come back */
export function propose(
  scope: PolicyPath,
  content: { readonly source: string } | { readonly restores: number },
  { expectedNumber, note = "" }: Pick<Partial<Publication>, "note"> & { expectedNumber: number },
): Promise<PolicyProposal> {
  const body = { ...content, expected_number: expectedNumber, note: noteOf(note) };
  return api.call(`POST /${scope}/proposals`, { body, timeoutMs: CHECK_MS });
}

export function publishProposal(scope: PolicyPath, id: string): Promise<PublishedPolicy> {
  return api.call(`POST /${scope}/proposals/{id}/publish`, { path: { id }, timeoutMs: CHECK_MS });
}

export function rejectProposal(
  scope: PolicyPath,
  id: string,
  note: string,
): Promise<PolicyProposal> {
  const body = { note: noteOf(note) };
  return api.call(`POST /${scope}/proposals/{id}/reject`, { path: { id }, body });
}

function noteOf(note: string): string | undefined {
  return note.trim() === "" ? undefined : note;
}

export interface SimulationOrder {
  readonly source: string;
  /** Like `24h` or `168h`: how far back. */
  readonly since: string;
}

/** Simulates a draft on past calls; nothing is written. */
export function simulate(
  scope: PolicyPath,
  { source, since }: SimulationOrder,
  signal: AbortSignal,
) {
  const body = { source, since, examples: EXAMPLES };
  return api.lines(`POST /${scope}/simulate`, { body, signal });
}
