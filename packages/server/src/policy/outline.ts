/** A rule as plain data, for a view without YAML. */

import type { Glob } from "./glob.ts";
import type { Ask, Rule, Verb } from "./rule.ts";

/** Undefined members do not restrict the rule. */
export interface RuleOutline {
  readonly id: string;
  readonly line: number;
  readonly verb: Verb;
  readonly tools: readonly string[] | undefined;
  readonly servers: readonly string[] | undefined;
  readonly groups: readonly string[] | undefined;
  readonly instanceIds: readonly string[] | undefined;
  readonly instanceNames: readonly string[] | undefined;
  /** Source of the condition. */
  readonly when: string | undefined;
  readonly note: string | undefined;
  readonly validityMs: number | undefined;
  readonly ask: AskOutline | undefined;
}

export interface AskOutline
  extends Pick<Ask, "from" | "quorum" | "excludeOwner" | "noteRequired" | "withinMs"> {
  readonly confirm: Ask["confirm"]["kind"];
}

export function outlineOf({
  id,
  line,
  verb,
  match,
  when,
  note,
  validityMs,
  ask,
}: Rule): RuleOutline {
  const { groups, instanceIds } = match;
  return {
    id,
    line,
    verb,
    tools: sourcesOf(match.tools),
    servers: sourcesOf(match.servers),
    groups: groups && [...groups],
    instanceIds: instanceIds && [...instanceIds],
    instanceNames: sourcesOf(match.instanceNames),
    when: when?.source,
    note,
    validityMs,
    ask: ask && outlineOfAsk(ask),
  };
}

function outlineOfAsk(ask: Ask): AskOutline {
  return {
    from: ask.from,
    quorum: ask.quorum,
    excludeOwner: ask.excludeOwner,
    noteRequired: ask.noteRequired,
    withinMs: ask.withinMs,
    confirm: ask.confirm.kind,
  };
}

function sourcesOf(globs: readonly Glob[] | undefined): readonly string[] | undefined {
  return globs?.map(({ source }) => source);
}
