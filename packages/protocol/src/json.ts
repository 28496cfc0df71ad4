/**
 * A strict, lossless JSON parser for submitted requests.
 *
 * `JSON.parse` rounds 9007199254740993 to ...992, keeps the last of two equal keys and accepts lone
 * surrogates. An approval of such a copy would be an approval of other arguments. This parser keeps
 * the source text of every number, object and array, and rejects text that two parsers could
 * interpret differently.
 *
 * Promises: linear time; never a partial result; `__proto__` is an ordinary key.
 *
 * @see RFC 8259; RFC 8785 section 3.1, the reason to reject duplicate keys and lone surrogates
 */

import { JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX } from "./limits.ts";
import { Problem } from "./problems.ts";

export type JsonValue = null | boolean | string | JsonNumber | JsonArray | JsonObject;

/** A number with its original spelling: `1.0`, `-0` and `1E2` stay unchanged. */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON array with its exact text. */
export class JsonArray {
  readonly items: readonly JsonValue[];
  /** The exact text from `[` to `]`. */
  readonly source: string;

  constructor(items: readonly JsonValue[], source: string) {
    this.items = items;
    this.source = source;
  }
}

/** A JSON object with its exact text. */
export class JsonObject {
  /** Decoded keys in source order. */
  readonly members: ReadonlyMap<string, JsonValue>;
  /** The exact text from `{` to `}`. */
  readonly source: string;

  constructor(members: ReadonlyMap<string, JsonValue>, source: string) {
    this.members = members;
    this.source = source;
  }
}

/** Limits of the parser. */
export interface JsonLimits {
  /** Open brackets at any position, including the outermost. */
  readonly depthMax: number;
  /** Characters of one number token. */
  readonly numberCharsMax: number;
}

const DEFAULT_LIMITS: JsonLimits = {
  depthMax: JSON_DEPTH_MAX,
  numberCharsMax: JSON_NUMBER_CHARS_MAX,
};

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON bytes without changing any value.
 *
 * @param bytes one JSON text in UTF-8, without a byte order mark
 * @throws Problem `invalid_json`, `duplicate_key`, `too_deep` or `number_too_long`; `param` is
 *   the path of the fault, or `body`
 */
export function parseJsonBytes(bytes: Uint8Array, limits = DEFAULT_LIMITS): JsonValue {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new Problem("invalid_json", "The body is not valid UTF-8.", { param: "body" });
  }
  return new Parser(text, limits).parse();
}

/** Like {@link parseJsonBytes}, for text that is already decoded. */
export function parseJson(text: string, limits = DEFAULT_LIMITS): JsonValue {
  // Valid UTF-8 contains no lone surrogate. Encoding would change the text.
  if (!text.isWellFormed()) {
    throw new Problem("invalid_json", "The text holds a lone surrogate.", { param: "body" });
  }
  return new Parser(text, limits).parse();
}

const PATH_CHARS_MAX = 200;

/** Character codes of the grammar. */
const CODE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  upperE: 0x45,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  lowerE: 0x65,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

const FOUR_HEX = /^[0-9a-fA-F]{4}$/;

/** Shared by all empty objects; never written to. */
const NO_MEMBERS = new Map<string, JsonValue>();

class Parser {
  readonly #text: string;
  readonly #limits: JsonLimits;
  /** The current key or index at each depth: the path of an error, kept without allocation. */
  readonly #path: (string | number | null)[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  parse(): JsonValue {
    this.#skipSpace();
    const value = this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#malformed("text after the end of the value");
    return value;
  }

  #value(): JsonValue {
    const code = this.#text.charCodeAt(this.#at);
    switch (code) {
      case CODE.quote:
        return this.#string();
      case CODE.openBrace:
        return this.#object();
      case CODE.openBracket:
        return this.#array();
      case 0x74:
        return this.#literal("true", true);
      case 0x66:
        return this.#literal("false", false);
      case 0x6e:
        return this.#literal("null", null);
      default:
        if (code === CODE.minus || isDigit(code)) return this.#number();
        if (Number.isNaN(code)) throw this.#malformed("the text ends where a value is expected");
        throw this.#malformed("a value is expected");
    }
  }

  #object(): JsonObject {
    const start = this.#open();
    let members = NO_MEMBERS;
    if (this.#peek() === CODE.closeBrace) {
      this.#at++;
    } else {
      members = new Map();
      do {
        if (this.#peek() !== CODE.quote) throw this.#malformed("a key in quotes is expected");
        const key = this.#string();
        this.#path[this.#depth - 1] = key;
        if (members.has(key)) {
          const message = "An object has the same key twice.";
          throw new Problem("duplicate_key", message, { param: this.#param() });
        }
        if (this.#peek() !== CODE.colon) throw this.#malformed("a colon is expected after a key");
        this.#at++;
        this.#skipSpace();
        members.set(key, this.#value());
      } while (this.#another(CODE.closeBrace));
    }
    this.#depth--;
    return new JsonObject(members, this.#text.slice(start, this.#at));
  }

  #array(): JsonArray {
    const start = this.#open();
    const items: JsonValue[] = [];
    if (this.#peek() === CODE.closeBracket) {
      this.#at++;
    } else {
      do {
        this.#path[this.#depth - 1] = items.length;
        this.#skipSpace();
        items.push(this.#value());
      } while (this.#another(CODE.closeBracket));
    }
    this.#depth--;
    return new JsonArray(items, this.#text.slice(start, this.#at));
  }

  /** Enters an object or array. @returns its start offset */
  #open(): number {
    if (this.#depth >= this.#limits.depthMax) {
      const message = `The JSON is nested deeper than ${this.#limits.depthMax} levels.`;
      throw new Problem("too_deep", message, { param: this.#param() });
    }
    this.#depth++;
    // An error before the first key or index belongs to the container itself.
    this.#path[this.#depth - 1] = null;
    return this.#at++;
  }

  /** After an element: true at a comma, false past the closing bracket. */
  #another(close: number): boolean {
    const code = this.#peek();
    if (code !== CODE.comma && code !== close) {
      throw this.#malformed("a comma or a closing bracket is expected");
    }
    this.#at++;
    return code === CODE.comma;
  }

  #literal<T extends null | boolean>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#malformed("a value is expected");
    this.#at += word.length;
    return value;
  }

  #number(): JsonNumber {
    const start = this.#at;
    if (this.#text.charCodeAt(this.#at) === CODE.minus) this.#at++;
    if (this.#text.charCodeAt(this.#at) === CODE.zero) this.#at++;
    else this.#digits();
    if (this.#text.charCodeAt(this.#at) === CODE.point) {
      this.#at++;
      this.#digits();
    }
    const exponent = this.#text.charCodeAt(this.#at);
    if (exponent === CODE.lowerE || exponent === CODE.upperE) {
      this.#at++;
      const sign = this.#text.charCodeAt(this.#at);
      if (sign === CODE.plus || sign === CODE.minus) this.#at++;
      this.#digits();
    }
    const length = this.#at - start;
    if (length > this.#limits.numberCharsMax) {
      const message = `A number is longer than ${this.#limits.numberCharsMax} characters.`;
      throw new Problem("number_too_long", message, { param: this.#param() });
    }
    return new JsonNumber(this.#text.slice(start, this.#at));
  }

  #digits(): void {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at === start) throw this.#malformed("a digit is expected");
  }

  #string(): string {
    const start = ++this.#at;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === CODE.quote) return this.#text.slice(start, this.#at++);
      if (code === CODE.backslash) return this.#stringWithEscapes(start);
      this.#refuseInString(code);
      this.#at++;
    }
  }

  /** The slow path, from the first backslash: decodes piece by piece. */
  #stringWithEscapes(start: number): string {
    let decoded = this.#text.slice(start, this.#at);
    let plainFrom = this.#at;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === CODE.quote) return decoded + this.#text.slice(plainFrom, this.#at++);
      if (code === CODE.backslash) {
        decoded += this.#text.slice(plainFrom, this.#at) + this.#escape();
        plainFrom = this.#at;
      } else {
        this.#refuseInString(code);
        this.#at++;
      }
    }
  }

  #refuseInString(code: number): void {
    if (Number.isNaN(code)) throw this.#malformed("an unterminated string");
    if (code < CODE.space) throw this.#malformed("a string has an unescaped control character");
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at + 1);
    if (letter !== "u") {
      const simple = SIMPLE_ESCAPES.get(letter);
      if (simple === undefined) throw this.#malformed("an unknown escape");
      this.#at += 2;
      return simple;
    }
    const unit = this.#unicodeEscape();
    if (unit >= 0xdc00 && unit <= 0xdfff) throw this.#malformed("a lone low surrogate");
    if (unit < 0xd800 || unit > 0xdbff) return String.fromCharCode(unit);
    if (!this.#text.startsWith("\\u", this.#at)) {
      throw this.#malformed("a lone high surrogate");
    }
    const low = this.#unicodeEscape();
    if (low < 0xdc00 || low > 0xdfff) throw this.#malformed("a lone high surrogate");
    return String.fromCharCode(unit, low);
  }

  #unicodeEscape(): number {
    const hex = this.#text.slice(this.#at + 2, this.#at + 6);
    if (!FOUR_HEX.test(hex)) throw this.#malformed("an escape needs four hexadecimal digits");
    this.#at += 6;
    return Number.parseInt(hex, 16);
  }

  /** The next character that is not white space; NaN at the end. */
  #peek(): number {
    this.#skipSpace();
    return this.#text.charCodeAt(this.#at);
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (
        code !== CODE.space &&
        code !== CODE.lineFeed &&
        code !== CODE.carriageReturn &&
        code !== CODE.tab
      ) {
        return;
      }
      this.#at++;
    }
  }

  #malformed(what: string): Problem {
    // The message contains the offset, never the text itself.
    const message = `The body is not valid JSON: ${what} (at character ${this.#at}).`;
    return new Problem("invalid_json", message, { param: this.#param() });
  }

  #param(): string {
    let path = "";
    for (const step of this.#path.slice(0, this.#depth)) {
      if (step === null) continue;
      path += typeof step === "number" ? `[${step}]` : path === "" ? step : `.${step}`;
      // A cut may fall between two surrogates.
      if (path.length > PATH_CHARS_MAX) {
        return `${path.slice(0, PATH_CHARS_MAX).toWellFormed()}...`;
      }
    }
    return path === "" ? "body" : path;
  }
}

/**
 * Writes JSON on one line, for line-delimited formats. A line break in valid JSON is white space
 * between tokens, so a space can replace it.
 *
 * @param source one valid JSON text, which may be untrusted
 */
export function onOneLine(source: string): string {
  return source.replace(/[\r\n]/g, " ");
}

function isDigit(code: number): boolean {
  return code >= CODE.zero && code <= CODE.nine;
}
