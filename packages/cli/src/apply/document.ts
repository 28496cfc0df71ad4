/** The documents of a directory: the desired state of the project. */

import type { FileFinding, Place } from "./finding.ts";

/** One document. Its schema has checked the members in `spec`. */
export interface Document<Spec = unknown> {
  readonly kind: string;
  /** The identity within its kind. Files have no ids, so they fit every server. */
  readonly name: string;
  readonly spec: Spec;
  /** The text of the file in `policy_file`. */
  readonly policyText?: string | undefined;
  /** @param path members from the top, like `["agents", 0]` */
  placeOf(path?: Path): Place;
}

export type Path = readonly (string | number)[];

/** The name of a kind, with the type of its documents. */
export interface KindOf<Spec> {
  readonly kind: string;
  /** Never set: it carries the type. */
  readonly spec?: Spec;
}

export class Documents {
  readonly all: readonly Document[];

  constructor(all: readonly Document[]) {
    this.all = all;
  }

  of<Spec>({ kind }: KindOf<Spec>): readonly Document<Spec>[] {
    return this.all.filter((one) => one.kind === kind) as readonly Document<Spec>[];
  }

  find<Spec>({ kind }: KindOf<Spec>, name: string): Document<Spec> | undefined {
    return this.all.find((one) => one.kind === kind && one.name === name) as
      | Document<Spec>
      | undefined;
  }

  /** Whether the directory manages this kind: it has a document of it. */
  has({ kind }: KindOf<unknown>): boolean {
    return this.all.some((one) => one.kind === kind);
  }
}

/** Receives the errors that only the server's state reveals. */
export type Report = (finding: FileFinding) => void;
