/**
 * Verifies the signatures of a log in other threads, because one takes as long as the rest of a
 * small seal. It reports them in their order.
 */

import { isSignedByAsync, type Verifier } from "../core/signed-note.ts";
import type { FindingError } from "./finding.ts";

/** Notes that are verified together. One by one, they take four times as long in this thread. */
export const NOTES_PER_BATCH = 64;

interface Check {
  readonly note: string;
  readonly createFinding: () => FindingError;
}

export class SignatureChecks {
  readonly #verifier: Verifier;
  #waiting: Check[] = [];
  /** The batch in the other threads. */
  #running: Promise<void> = Promise.resolve();

  constructor(verifier: Verifier) {
    this.#verifier = verifier;
  }

  /** @param createFinding what to report when the note has no valid signature */
  add(note: string, createFinding: () => FindingError): void {
    this.#waiting.push({ note, createFinding });
  }

  /**
   * Starts a batch when enough notes wait for it, after the batch before.
   *
   * @throws FindingError of the first note of the batch before without a valid signature
   */
  async startWhenFull(): Promise<void> {
    if (this.#waiting.length < NOTES_PER_BATCH) return;
    await this.#running;
    this.#running = this.#verifyAll(this.#waiting.splice(0));
    // Until it is awaited.
    this.#running.catch(() => {});
  }

  /** @throws FindingError of the first note without a valid signature */
  async waitForAll(): Promise<void> {
    await this.#running;
    await this.#verifyAll(this.#waiting.splice(0));
  }

  async #verifyAll(checks: readonly Check[]): Promise<void> {
    const signed = checks.map(({ note }) => isSignedByAsync(note, this.#verifier));
    const areValid = await Promise.all(signed);
    const invalid = checks[areValid.indexOf(false)];
    if (invalid !== undefined) throw invalid.createFinding();
  }
}
