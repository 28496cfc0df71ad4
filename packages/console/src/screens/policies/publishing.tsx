/** The changes of a draft, and how to publish it: alone or with a second person. */

import type { PolicyPath, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { ActivationQuestion, type Outcome } from "./activation.tsx";
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
  onSent(outcome: Outcome): void;
}

export function Publishing(props: PublishingProps) {
  const { scope, source, base, active, isReady, onDiscard, onConflict, onSent } = props;
  const [note, setNote] = useState("");
  const isTwoPerson = active.two_person === true;
  const activeSource = sourceOf(active);
  const [isAsking, setAsking] = useState(false);
  async function send(): Promise<Outcome> {
    if (isTwoPerson) {
      await propose(scope, { source }, { expectedNumber: base, note });
      return { words: t`Proposed. Another person must publish it.` };
    }
    const { number } = await publish(scope, { source, expectedNumber: base, note });
    const words = t`Version ${String(number)} is active.`;
    return { words, activated: { number, former: base } };
  }
  async function sendOnce(): Promise<void> {
    try {
      onSent(await send());
      setAsking(false);
    } catch (error) {
      if (error instanceof Refusal && error.code === "policy_conflict") {
        // The screen shows the active version beside the draft.
        setAsking(false);
        onConflict();
      }
      throw error;
    }
  }
  return (
    <section class="panel" aria-labelledby="publish-title">
      <h2 id="publish-title">
        {active.number === 0 ? t`First version` : t`Changes from version ${String(active.number)}`}
      </h2>
      {activeSource !== undefined && <DiffLines hunks={lineDiff(activeSource, source)} />}
      <div class="field">
        <label for="publish-note">{t`Reason (optional, stored with the version)`}</label>
        <input
          id="publish-note"
          maxLength={1000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </div>
      <div class="actions">
        <Button
          kind="primary"
          disabled={!isReady || base !== active.number}
          onPress={isTwoPerson ? sendOnce : () => setAsking(true)}
        >
          {isTwoPerson ? t`Propose` : t`Publish`}
        </Button>
        {onDiscard !== undefined && (
          <Button kind="quiet" onPress={onDiscard}>
            {t`Discard my changes`}
          </Button>
        )}
      </div>
      <PeopleHint isTwoPerson={isTwoPerson} />
      {isAsking && (
        <ActivationQuestion
          title={t`Publish version ${String(base + 1)}?`}
          lead={
            base === 0
              ? t`It applies to new calls at once.`
              : t`It replaces version ${String(base)} and applies to new calls at once.`
          }
          before={activeSource ?? ""}
          after={source}
          verb={t`Publish`}
          onClose={() => setAsking(false)}
          onConfirm={sendOnce}
        />
      )}
    </section>
  );
}

function PeopleHint({ isTwoPerson }: { readonly isTwoPerson: boolean }) {
  const setting = <code>two_person: true</code>;
  return (
    <p class="hint">
      {isTwoPerson
        ? t`Publishing this policy requires two people: another person must publish your proposal.`
        : rich`With ${setting} in the text, another person must publish each later version.`}
    </p>
  );
}
