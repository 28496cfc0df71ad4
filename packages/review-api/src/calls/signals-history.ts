/** Signals of earlier calls of the same tool by the same instance. Pure. */

import type { JsonObject } from "@countersign/protocol";
import type { Call } from "./call.ts";
import { counted, word } from "./call-words.ts";
import { stringsIn } from "./leaves.ts";
import { amountsIn } from "./money.ts";
import { type Signal, signal } from "./signal.ts";
import { hostsIn } from "./urls.ts";

export interface EarlierCalls {
  /** Arguments of the latest approved calls. */
  readonly approved: readonly JsonObject[];
  /** How many calls there are, with any outcome. */
  readonly count: number;
  /** True when no earlier call can exist: none was purged or left out. */
  readonly isComplete: boolean;
  readonly wasDenied: boolean;
  /** The days of the earlier calls. */
  readonly days: number;
}

/** @param call undefined for arguments that cannot be analyzed */
export function historySignals(call: Call | undefined, earlier: EarlierCalls): Signal[] {
  const { count, isComplete, wasDenied, approved, days } = earlier;
  const found: (Signal | undefined)[] = [];
  if (count === 0 && isComplete) {
    const text = `The first call of this tool by this instance in ${counted(days, "day")}.`;
    found.push(signal("first_time_for_instance", text));
  }
  if (wasDenied) found.push(signal("denied_before", "A call with the same arguments was denied."));
  if (call !== undefined && approved.length > 0) {
    found.push(amountSignal(call, approved), domainSignal(call, approved));
  }
  return found.filter((one) => one !== undefined);
}

/** An amount above all approved ones at the same path, with the same currency. */
function amountSignal({ args }: Call, approved: readonly JsonObject[]): Signal | undefined {
  const highest = new Map<string, { amount: string; value: number }>();
  for (const { path, amount, currency } of approved.flatMap(amountsIn)) {
    const key = JSON.stringify([path, currency]);
    const value = Number(amount);
    if (value > (highest.get(key)?.value ?? Number.NEGATIVE_INFINITY)) {
      highest.set(key, { amount, value });
    }
  }
  for (const { path, amount, currency } of amountsIn(args)) {
    const usual = highest.get(JSON.stringify([path, currency]));
    if (usual === undefined || Number(amount) <= usual.value) continue;
    const calls = counted(approved.length, "approved call");
    const text = `${word(amount)} is above ${word(usual.amount)}, the highest of ${calls}.`;
    return signal("amount_above_usual", text, path);
  }
  return undefined;
}

/** A host or the domain of a receiver that no approved call had. */
function domainSignal({ args }: Call, approved: readonly JsonObject[]): Signal | undefined {
  const known = new Set(approved.flatMap((one) => domainsIn(one).map(({ domain }) => domain)));
  const found = domainsIn(args).find(({ domain }) => !known.has(domain));
  if (found === undefined) return undefined;
  const calls = counted(approved.length, "approved call");
  const text = `${word(found.domain)} is in none of ${calls}.`;
  return signal("new_domain", text, found.path);
}

const ADDRESS = /^[^\s@<>]{1,200}@([^\s@<>]{1,253})$/;

function domainsIn(args: JsonObject): { domain: string; path: string }[] {
  const hosts = hostsIn(args).flatMap(({ host, written }) => {
    const domain = host ?? written;
    return domain === undefined ? [] : [{ domain: domain.toLowerCase(), path: "" }];
  });
  const receivers = stringsIn(args).flatMap(({ path, value }) => {
    const texts = value.length > 10_000 ? [] : value.split(/[,;]/);
    return texts.flatMap((text) => {
      const named = /<([^<>]*)>\s*$/.exec(text)?.[1] ?? text;
      const domain = ADDRESS.exec(named.trim())?.[1];
      return domain === undefined ? [] : [{ domain: domain.toLowerCase(), path }];
    });
  });
  return [...hosts, ...receivers];
}
