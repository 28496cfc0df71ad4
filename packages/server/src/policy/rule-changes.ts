/**
 * Compares the rules of two policies, for publishers.
 *
 * Guarantees: spelling, order and tests have no effect.
 */

import type { Glob } from "./glob.ts";
import type { Rule } from "./rule.ts";

/** Ids of rules, each list sorted. */
export interface RuleChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export function compareRules(before: readonly Rule[], after: readonly Rule[]): RuleChanges {
  const old = meanings(before);
  const young = meanings(after);
  const ids = (map: ReadonlyMap<string, string>) => [...map.keys()].sort();
  return {
    added: ids(young).filter((id) => !old.has(id)),
    changed: ids(young).filter((id) => old.has(id) && old.get(id) !== young.get(id)),
    removed: ids(old).filter((id) => !young.has(id)),
  };
}

function meanings(rules: readonly Rule[]): ReadonlyMap<string, string> {
  return new Map(rules.map((rule) => [rule.id, JSON.stringify(meaningOf(rule))]));
}

/** All parts except id and position; compiled parts by their source. */
function meaningOf({ match, when, verb, note, validityMs, ask }: Rule): object {
  return {
    tools: globs(match.tools),
    servers: globs(match.servers),
    groups: names(match.groups),
    ids: names(match.instanceIds),
    names: globs(match.instanceNames),
    when: when?.source,
    verb,
    note,
    validityMs,
    ask: ask && {
      from: names(ask.from),
      quorum: ask.quorum,
      excludeOwner: ask.excludeOwner,
      confirm: ask.confirm.kind === "type" ? ["type", ask.confirm.text.source] : ask.confirm.kind,
      noteRequired: ask.noteRequired,
      withinMs: ask.withinMs,
      grants: ask.grants,
      bots: ask.bots,
      channels: ask.channels,
      escalate: ask.escalate,
    },
  };
}

function globs(list: readonly Glob[] | undefined): readonly string[] | undefined {
  return names(list?.map(({ source }) => source));
}

function names(set: Iterable<string> | undefined): readonly string[] | undefined {
  return set === undefined ? undefined : [...new Set(set)].sort();
}
