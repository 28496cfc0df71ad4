import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { Ending, JsonText, Resolution, StoredRequest } from "../core/request.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import { lockRequest } from "../storage/sql/requests.ts";
import type { Transaction } from "../storage/store.ts";
import { DeadlinePassed, resolveRequest } from "./resolveRequest.ts";

export interface Verdict {
  readonly verdict: "approve" | "deny";
  /** SHA-256, in hex, of the exact arguments text that the reviewer was shown. */
  readonly argumentsSha256: string;
  readonly note: string | undefined;
  /** How long an approval may be used; the operator's default when undefined. */
  readonly validityMs: number | undefined;
}

/**
 * Ends a pending request by a reviewer's verdict. Sending the same verdict again is harmless:
 * whoever lost the answer gets it again.
 *
 * @throws Problem `forbidden` for viewers, `not_found` outside the reviewer's project,
 *   `arguments_mismatch` when something else was shown than is stored, `already_terminal` when
 *   another decision stands, `invalid_request` when the validity is out of bounds
 */
export async function castVerdict(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  verdict: Verdict,
): Promise<StoredRequest> {
  if (caller.role !== "reviewer") {
    throw new Problem("forbidden", "This reviewer may look but not decide.");
  }
  const ending = toEnding(context, caller, verdict);
  const decide = async (tx: Transaction) => {
    const locked = await lockRequest(tx, { projectId: caller.projectId, id });
    if (locked === undefined) throw new Problem("not_found");
    if (sha256Hex(locked.arguments) !== verdict.argumentsSha256) {
      throw new Problem("arguments_mismatch", undefined, { param: "arguments_sha256" });
    }
    return { request: locked, resolution: await resolveRequest(tx, context, locked, ending) };
  };
  const { request, resolution } = await context.store.transact(decide).catch((error: unknown) => {
    if (!(error instanceof DeadlinePassed)) throw error;
    // By now it is too late from the beginning, and expires.
    return context.store.transact(decide);
  });
  if (resolution.kind === "not_due") throw new Error("a verdict cannot be early");
  const { decision } = resolution;
  if (resolution.kind === "resolved") context.wake.signal(resolution.signal);
  if (!isAnswerTo(resolution, ending)) {
    const message = `The request is already ${decision.status}.`;
    throw new Problem("already_terminal", message);
  }
  return { ...request, status: decision.status, decision };
}

function toEnding(
  { settings }: Context,
  caller: ReviewerCaller,
  { verdict, note, validityMs }: Verdict,
): Ending & { readonly note: JsonText | null } {
  const by = `reviewer:${caller.reviewerId}` as const;
  const noteText = note === undefined ? null : JSON.stringify(note);
  if (verdict === "deny") return { status: "denied", by, note: noteText };
  const validity = validityMs ?? settings.validityMsDefault;
  if (validity < settings.validityMsMin || validity > settings.validityMsMax) {
    const bounds = `${settings.validityMsMin / 1000}s and ${settings.validityMsMax / 1000}s`;
    throw new Problem("invalid_request", `valid_for must be between ${bounds}.`, {
      param: "valid_for",
    });
  }
  return { status: "approved", by, note: noteText, validityMs: validity };
}

/** Whether what now stands is this very verdict, just recorded or recorded by an earlier try. */
function isAnswerTo(
  resolution: Exclude<Resolution, { kind: "not_due" }>,
  ending: ReturnType<typeof toEnding>,
): boolean {
  const { decision } = resolution;
  if (decision.status !== ending.status) return false;
  if (resolution.kind === "resolved") return true;
  const by = "by" in ending ? ending.by : undefined;
  return decision.decidedBy === by && decision.note === ending.note;
}
