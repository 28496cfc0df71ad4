/**
 * Verifies the signatures of a log in other threads, because one takes as long as the rest of a
 * small seal. It reports them in their order.
 */

import { isSignedByInThread, type Verifier } from "../core/signed-note.ts";
import type { FindingError } from "./finding.ts";

/** Limits the memory of notes that wait. */
const WAITING_MAX = 16;

interface Check {
  readonly isSigned: Promise<boolean>;
  readonly fault: () => FindingError;
}

export class SignatureChecks {
  readonly #verifier: Verifier;
  #checks: Check[] = [];

  constructor(verifier: Verifier) {
    this.#verifier = verifier;
  }

  /** @param fault what to report of a note without a valid signature */
  add(note: string, fault: () => FindingError): void {
    const isSigned = isSignedByInThread(note, this.#verifier);
    // Until it is awaited.
    isSigned.catch(() => {});
    this.#checks.push({ isSigned, fault });
  }

  /**
   * Waits only when many notes do.
   *
   * @throws FindingError as {@link end}
   */
  async limit(): Promise<void> {
    if (this.#checks.length >= WAITING_MAX) await this.end();
  }

  /**
   * Waits for all of them.
   *
   * @throws FindingError of the first note without a valid signature
   */
  async end(): Promise<void> {
    for (const { isSigned, fault } of this.#checks.splice(0)) {
      if (!(await isSigned)) throw fault();
    }
  }
}
