/** The changes of a draft, and how to publish it: alone or with a second person. */

import type { PolicyPath, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { propose, publish, sourceOf } from "./policy-api.ts";

interface PublishingProps {
  readonly scope: PolicyPath;
  readonly source: string;
  readonly base: number;
  readonly active: ShownPolicy;
  /** Whether the server has just said that it could be published. */
  readonly isReady: boolean;
  readonly onDiscard: (() => void) | undefined;
  /** Called when another version has become active. */
  onConflict(): void;
  /** It was published or proposed. */
  onSent(): void;
}

export function Publishing(props: PublishingProps) {
  const { scope, source, base, active, isReady, onDiscard, onConflict, onSent } = props;
  const [note, setNote] = useState("");
  const isTwoPerson = active.two_person === true;
  const activeSource = sourceOf(active);
  async function send(): Promise<void> {
    try {
      if (isTwoPerson) await propose(scope, { source }, { expectedNumber: base, note });
      else await publish(scope, { source, expectedNumber: base, note });
    } catch (error) {
      // The screen shows the active version beside the draft.
      if (error instanceof Refusal && error.code === "policy_conflict") onConflict();
      throw error;
    }
    onSent();
  }
  return (
    <section class="panel" aria-labelledby="publish-title">
      <h2 id="publish-title">
        {active.number === 0 ? "First version" : `Changes from version ${active.number}`}
      </h2>
      {activeSource !== undefined && <DiffLines hunks={lineDiff(activeSource, source)} />}
      <div class="field">
        <label for="publish-note">Reason (optional, stored with the version)</label>
        <input
          id="publish-note"
          maxLength={1000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </div>
      <div class="actions">
        <Button kind="primary" disabled={!isReady || base !== active.number} onPress={send}>
          {isTwoPerson ? "Propose" : "Publish"}
        </Button>
        {onDiscard !== undefined && (
          <Button kind="quiet" onPress={onDiscard}>
            Discard my changes
          </Button>
        )}
      </div>
      <p class="hint">
        {isTwoPerson ? (
          "Publishing this policy requires two people: another person must publish your proposal."
        ) : (
          <>
            With <code>two_person: true</code> in the text, another person must publish each later
            version.
          </>
        )}
      </p>
    </section>
  );
}
