/** The tables of contract/vectors, for testing implementations in any language. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface UrlVector {
  readonly url: string;
  readonly accepted: boolean;
  readonly accepted_with_internal_names: boolean;
  /** This and what follows: where either is true. */
  readonly host?: string;
  readonly is_address?: boolean;
  readonly port?: number;
  readonly path?: string;
  readonly authority?: string;
  readonly why: string;
}

export interface SecretVector {
  readonly secret: string;
  readonly valid: boolean;
  /** Where it is valid. */
  readonly key_hex?: string;
  readonly why: string;
}

export interface SignatureVector {
  readonly key_hex: string;
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
  readonly signature: string;
  readonly why: string;
}

/** The expected result for a signature header together with the first signature vector. */
export interface HeaderVector {
  readonly header: string;
  readonly valid: boolean;
  readonly why: string;
}

export interface SignatureTable {
  readonly secrets: readonly SecretVector[];
  readonly signatures: readonly SignatureVector[];
  readonly headers: readonly HeaderVector[];
}

export function readUrlVectors(): readonly UrlVector[] {
  const { vectors } = readTable("webhook-url.json") as { vectors: readonly UrlVector[] };
  return vectors;
}

export function readSignatureTable(): SignatureTable {
  return readTable("signature.json") as SignatureTable;
}

function readTable(name: string): unknown {
  const path = join(import.meta.dirname, "../../../../contract/vectors", name);
  return JSON.parse(readFileSync(path, "utf8"));
}
