/** Amounts with their currency, as they are written: nothing is computed or rounded. Pure. */

import { JsonNumber, type JsonValue } from "@countersign/protocol";
import { objectsIn } from "./leaves.ts";
import { joinPath } from "./path.ts";

export interface Money {
  readonly path: string;
  /** Letter for letter. */
  readonly amount: string;
  /** By ISO 4217, in upper case. */
  readonly currency: string;
}

const AMOUNTS = /^(?:.*[_-])?(?:amount|total|price|sum|fee|subtotal|tax)(?:[_-](?:cents|minor))?$/i;
const CURRENCY = /^currency(?:[_-]?code)?$/i;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const KNOWN = new Set(Intl.supportedValuesOf("currency"));

/** Amounts beside exactly one currency; none of an object in which one amount is not certain. */
export function moneyIn(args: JsonValue): Money[] {
  return objectsIn(args).flatMap(({ path, value: { members } }) => {
    const codes = [...members].filter(([key]) => CURRENCY.test(key));
    const code = codes.length === 1 ? codes[0]?.[1] : undefined;
    if (typeof code !== "string" || !KNOWN.has(code.toUpperCase())) return [];
    const amounts = [...members].filter(([key]) => AMOUNTS.test(key));
    const money = amounts.flatMap(([key, value]) => {
      const amount = amountOf(value);
      if (amount === undefined) return [];
      return [{ path: joinPath(path, key), amount, currency: code.toUpperCase() }];
    });
    return money.length === amounts.length ? money : [];
  });
}

export interface Amount extends Omit<Money, "currency"> {
  /** In upper case; undefined: none is beside it. */
  readonly currency: string | undefined;
}

/** Amounts with or without a currency, by the names of their members. */
export function amountsIn(args: JsonValue): Amount[] {
  return objectsIn(args).flatMap(({ path, value: { members } }) => {
    const codes = [...members].filter(([key]) => CURRENCY.test(key)).map(([, code]) => code);
    const [code] = codes;
    const currency = typeof code === "string" ? code.slice(0, 100).toUpperCase() : undefined;
    if (codes.length > 1) return [];
    return [...members].flatMap(([key, value]) => {
      const amount = AMOUNTS.test(key) ? amountOf(value) : undefined;
      return amount === undefined ? [] : [{ path: joinPath(path, key), amount, currency }];
    });
  });
}

function amountOf(value: JsonValue): string | undefined {
  if (value instanceof JsonNumber) return value.source;
  return typeof value === "string" && DECIMAL.test(value) ? value : undefined;
}
