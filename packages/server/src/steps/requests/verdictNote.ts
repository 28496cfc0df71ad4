import type { Problem } from "@countersign/protocol";
import type { PasskeyProof } from "../../audit/passkey-proof.ts";
import type { JsonText } from "../../core/request.ts";

/** The result of the signature check before the transaction. */
export type Signature =
  | { readonly kind: "signed"; readonly proof: PasskeyProof; readonly counter: number }
  /** Thrown only if the request still needs a signature. A stored verdict needs none. */
  | { readonly kind: "refused"; readonly problem: Problem };

export interface Verdict {
  readonly verdict: "approve" | "deny";
  /** SHA-256, in hex, of the exact arguments text that the reviewer saw. */
  readonly argumentsSha256: string;
  readonly note: string | undefined;
  /** Validity of an approval; undefined: the operator's default. */
  readonly validityMs: number | undefined;
  /** The typed confirmation, if the request requires one. */
  readonly confirmation: string | undefined;
  /** Approvals only: a passkey signature over all fields except the confirmation. */
  readonly signature?: Signature | undefined;
  /** Delay before the verdict is applied, ms; undefined: none. */
  readonly holdMs?: number | undefined;
}

/** The note as the database stores it. */
export function verdictNote({ note }: Pick<Verdict, "note">): JsonText | null {
  return note === undefined ? null : JSON.stringify(note);
}
