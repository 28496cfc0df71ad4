import type { Problem } from "@countersign/protocol";
import type { PasskeyProof } from "../../audit/passkey-proof.ts";
import type { JsonText } from "../../core/request.ts";

/** The check of a passkey's signature that ran before the transaction. */
export type Signature =
  | { readonly kind: "signed"; readonly proof: PasskeyProof; readonly counter: number }
  /** Thrown only if the request still needs a signature: a stored verdict needs none. */
  | { readonly kind: "refused"; readonly problem: Problem };

export interface Verdict {
  readonly verdict: "approve" | "deny";
  /** SHA-256, in hex, of the exact arguments text that the reviewer was shown. */
  readonly argumentsSha256: string;
  readonly note: string | undefined;
  /** How long an approval may be used; the operator's default when undefined. */
  readonly validityMs: number | undefined;
  /** What an approver had to type, where the request requires that. */
  readonly confirmation: string | undefined;
  /** Approvals only: the signature of a passkey over all fields except the confirmation. */
  readonly signature?: Signature | undefined;
  /** Delay before the verdict is applied, ms; undefined: apply it now. */
  readonly holdMs?: number | undefined;
}

/** The note as the database stores it. */
export function verdictNote({ note }: Pick<Verdict, "note">): JsonText | null {
  return note === undefined ? null : JSON.stringify(note);
}
