/**
 * Verifies the signatures of a log in other threads, because one takes as long as the rest of a
 * small seal. It reports them in their order.
 */

import { isSignedByAsync, type Verifier } from "../core/signed-note.ts";
import type { FindingError } from "./finding.ts";

/** Limits the memory of notes with a pending check. */
export const PENDING_MAX = 16;

interface Check {
  readonly isSigned: Promise<boolean>;
  readonly createFinding: () => FindingError;
}

export class SignatureChecks {
  readonly #verifier: Verifier;
  #checks: Check[] = [];

  constructor(verifier: Verifier) {
    this.#verifier = verifier;
  }

  /** @param createFinding what to report when the note has no valid signature */
  add(note: string, createFinding: () => FindingError): void {
    const isSigned = isSignedByAsync(note, this.#verifier);
    // Until it is awaited.
    isSigned.catch(() => {});
    this.#checks.push({ isSigned, createFinding });
  }

  /**
   * Waits for all checks when many are pending.
   *
   * @throws FindingError as {@link waitForAll}
   */
  async waitWhenFull(): Promise<void> {
    if (this.#checks.length >= PENDING_MAX) await this.waitForAll();
  }

  /** @throws FindingError of the first note without a valid signature */
  async waitForAll(): Promise<void> {
    for (const { isSigned, createFinding } of this.#checks.splice(0)) {
      if (!(await isSigned)) throw createFinding();
    }
  }
}
