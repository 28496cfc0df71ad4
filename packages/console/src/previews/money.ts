/** Amounts with their currency, as they are written: nothing is computed or rounded. Pure. */

import { JsonNumber, type JsonValue } from "@countersign/protocol";
import { joinPath } from "../exact/leaves.ts";
import { objectsIn } from "./leaves.ts";

export interface Money {
  readonly path: string;
  /** Letter for letter. */
  readonly amount: string;
  /** By ISO 4217, in upper case. */
  readonly currency: string;
}

const AMOUNTS = /^(?:.*[_-])?(?:amount|total|price|sum|fee|subtotal|tax)(?:[_-](?:cents|minor))?$/i;
const CURRENCIES = ["currency", "currency_code", "currencyCode"];
const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const KNOWN = new Set(Intl.supportedValuesOf("currency"));

/** Those that stand in one object with a currency. */
export function moneyIn(args: JsonValue): Money[] {
  return objectsIn(args).flatMap(({ path, value: { members } }) => {
    const code = CURRENCIES.map((key) => members.get(key)).find((one) => typeof one === "string");
    if (typeof code !== "string" || !KNOWN.has(code.toUpperCase())) return [];
    return [...members].flatMap(([key, value]) => {
      const amount = amountOf(value);
      if (amount === undefined || !AMOUNTS.test(key)) return [];
      return [{ path: joinPath(path, key), amount, currency: code.toUpperCase() }];
    });
  });
}

function amountOf(value: JsonValue): string | undefined {
  if (value instanceof JsonNumber) return value.source;
  return typeof value === "string" && DECIMAL.test(value) ? value : undefined;
}
