/**
 * Policies on their way from the thread that has read them: what was read is plain data, and what
 * is made of it, functions and indexes, is made where it is used. In pieces, so that the server can
 * serve others between them.
 */

import { deserialize, serialize } from "node:v8";
import { type Condition, conditionOf, type TextExpression, textOf } from "../policy/condition.ts";
import type { Ask, Policy, Rule } from "../policy/rule.ts";

/** A policy without its source, which the other side has, and without its tests. */
export interface PackedPolicy {
  readonly sha256: string;
  readonly isTwoPerson: boolean;
  readonly warnings: Policy["warnings"];
  /** Its rules, some in each piece. */
  readonly pieces: readonly Uint8Array[];
}

type Packed<T> = Omit<T, "evaluate">;

interface PackedRule extends Omit<Rule, "when" | "ask"> {
  readonly when: Packed<Condition> | undefined;
  readonly ask: PackedAsk | undefined;
}

interface PackedAsk extends Omit<Ask, "confirm"> {
  readonly confirm: Exclude<Ask["confirm"], { kind: "type" }> | PackedConfirm;
}

interface PackedConfirm {
  readonly kind: "type";
  readonly text: Packed<TextExpression>;
}

/** Characters of conditions in a piece: it is unpacked within a few milliseconds. */
const PIECE_CHARS = 4_096;

/** What a rule takes besides its condition, in the same measure. */
const RULE_CHARS = 64;

export function packPolicy({ sha256, isTwoPerson, warnings, rules }: Policy): PackedPolicy {
  const pieces: Uint8Array[] = [];
  let piece: PackedRule[] = [];
  let chars = 0;
  for (const rule of rules) {
    piece.push(packRule(rule));
    chars += RULE_CHARS + (rule.when?.source.length ?? 0);
    if (chars < PIECE_CHARS) continue;
    pieces.push(serialize(piece));
    piece = [];
    chars = 0;
  }
  if (piece.length > 0) pieces.push(serialize(piece));
  return { sha256, isTwoPerson, warnings, pieces };
}

/** @param breathe called between the pieces */
export async function unpackPolicy(
  source: string,
  { pieces, ...rest }: PackedPolicy,
  pause: () => Promise<void>,
): Promise<Policy> {
  const rules: Rule[] = [];
  for (const piece of pieces) {
    await pause();
    for (const rule of deserialize(piece) as PackedRule[]) rules.push(unpackRule(rule));
  }
  return Object.freeze({ ...rest, source, rules, tests: [] });
}

function packRule({ when, ask, ...rest }: Rule): PackedRule {
  return { ...rest, when: when && pack(when), ask: ask && packAsk(ask) };
}

function packAsk({ confirm, ...rest }: Ask): PackedAsk {
  if (confirm.kind !== "type") return { ...rest, confirm };
  return { ...rest, confirm: { kind: "type", text: pack(confirm.text) } };
}

function pack<T extends { readonly evaluate: unknown }>({ evaluate: _, ...data }: T): Packed<T> {
  return data;
}

function unpackRule({ when, ask, ...rest }: PackedRule): Rule {
  return {
    ...rest,
    when: when && conditionOf(when.source, when.expression),
    ask: ask && unpackAsk(ask),
  };
}

function unpackAsk({ confirm, ...rest }: PackedAsk): Ask {
  if (confirm.kind !== "type") return { ...rest, confirm };
  const { source, expression } = confirm.text;
  return { ...rest, confirm: { kind: "type", text: textOf(source, expression) } };
}
