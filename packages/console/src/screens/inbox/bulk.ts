/**
 * Rules for deciding several requests together, and the differences to review first. Pure.
 */

import { toolChangeOf } from "@countersign/review-api/tool-change";
import { kindOf, leavesOf } from "../../exact/leaves.ts";
import { t } from "../../language/t.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { collectsVotes } from "../../requests/words.ts";

export const APPROVALS_MAX = 20;

/** Why these are not approved together; empty where they may be. */
export function whyNotTogether(requests: readonly PendingRequest[]): string {
  const [first] = requests;
  if (first === undefined) return t`Select at least one call.`;
  if (requests.length > APPROVALS_MAX)
    return t`At most ${APPROVALS_MAX} calls can be approved together.`;
  if (requests.some(({ may_decide }) => !may_decide.approve)) {
    return t`You cannot approve some of these calls.`;
  }
  const asks = requests.map(({ requirement }) => requirement);
  if (asks.some(({ confirm }) => confirm.kind === "passkey")) {
    return t`Calls that need a passkey must be approved one by one.`;
  }
  if (asks.some(({ confirm }) => confirm.kind !== "click")) {
    return t`Calls that need a typed confirmation must be approved one by one.`;
  }
  if (asks.some(collectsVotes))
    return t`Calls that need several approvals must be approved one by one.`;
  if (requests.some((request) => toolChangeOf(request) !== undefined)) {
    return t`Calls of a tool with a changed definition must be approved one by one.`;
  }
  if (requests.some(({ tool }) => tool !== first.tool)) {
    return t`Calls of different tools must be approved one by one.`;
  }
  // Tools of different servers may have one name.
  if (requests.some(({ server }) => server !== first.server)) {
    return t`Calls on different servers must be approved one by one.`;
  }
  if (requests.some(({ instance }) => instance.id !== first.instance.id)) {
    return t`Calls of different instances must be approved one by one.`;
  }
  const shape = shapeOf(first.argumentsSource);
  if (requests.some(({ argumentsSource }) => shapeOf(argumentsSource) !== shape)) {
    return t`Calls with different argument names must be approved one by one.`;
  }
  return "";
}

/** The names, places and kinds of all values, without the values, in whatever order. */
function shapeOf(source: string): string {
  const lines = leavesOf(source).map(({ path, source: value }) => `${path} ${kindOf(value)}`);
  return lines.sort().join("\n");
}

export interface Comparison {
  /** Paths at which the calls differ, in the order of the first one. */
  readonly differing: readonly string[];
  /** Values that are identical in all of them. */
  readonly same: readonly { readonly path: string; readonly source: string }[];
  /** Of each call, in order: the texts at the differing paths. */
  readonly rows: readonly (readonly string[])[];
}

/** @param requests of one shape */
export function compare(requests: readonly PendingRequest[]): Comparison {
  const all = requests.map(
    ({ argumentsSource }) =>
      new Map(leavesOf(argumentsSource).map(({ path, source }) => [path, source])),
  );
  const [first = new Map<string, string>()] = all;
  const differs = (path: string) => all.some((leaves) => leaves.get(path) !== first.get(path));
  const paths = [...first.keys()];
  const differing = paths.filter(differs);
  return {
    differing,
    same: paths
      .filter((path) => !differs(path))
      .map((path) => ({
        path,
        source: first.get(path) ?? "",
      })),
    rows: all.map((leaves) => differing.map((path) => leaves.get(path) ?? "")),
  };
}
