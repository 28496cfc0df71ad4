/** A kind of document: its schema, its plan and its export. */

import type * as v from "valibot";
import type { Actual } from "./actual.ts";
import type { Documents, KindOf, Report } from "./document.ts";
import type { SecretSource } from "./secrets.ts";
import type { Planned } from "./step.ts";

export interface PlanInput {
  readonly documents: Documents;
  readonly actual: Actual;
  /** @returns undefined when the variable or file is not there */
  readonly readSecret: (source: SecretSource, documentFile: string) => string | undefined;
  readonly report: Report;
  /** Whether to send the secrets of channels again, changed or not. */
  readonly setsSecrets: boolean;
}

/** Documents and further files of an export. */
export interface Exported {
  readonly documents: readonly object[];
  /** By the path in the directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** The omissions of the export, a sentence each. */
  readonly notes?: readonly string[];
}

export interface Kind<Spec = unknown> extends KindOf<Spec> {
  /** Of the document, with its `kind`. */
  readonly schema: v.GenericSchema<unknown, Spec>;
  nameOf(spec: Spec): string;
  /** Pure: reads secrets only through the input. */
  plan(input: PlanInput): Planned;
  /** Absent: an export omits the kind. */
  readonly export?: (actual: Actual) => Exported;
  /** Name of the file that an export writes. */
  readonly file: string;
}
