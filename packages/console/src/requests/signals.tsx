/** Signals: facts about a call that a reviewer should check. */

import "./signals.css";
import type { ReviewedRequest } from "@countersign/review-api";
import type { SignalId } from "@countersign/review-api/calls";
import { Text } from "../exact/text.tsx";
import { t } from "../language/t.ts";

export type Signals = NonNullable<ReviewedRequest["signals"]>;

const WORDS: Readonly<Record<SignalId, string>> = {
  amount_above_usual: t`Amount above usual`,
  confusable_characters: t`Confusable characters`,
  denied_before: t`Denied before`,
  first_time_for_instance: t`First time for instance`,
  force_push: t`Force push`,
  new_domain: t`New domain`,
  no_where: t`No WHERE`,
  outside_project: t`Outside project`,
  pipe_to_shell: t`Pipe to shell`,
  production_word: t`Production word`,
  recursive_delete: t`Recursive delete`,
  unchecked: t`Unchecked`,
  unclear_sql: t`Unclear SQL`,
};

/** "Pipe to shell". A signal of a newer server is described by its id. */
export function wordsOf(id: string): string {
  const known = Object.entries(WORDS).find(([name]) => name === id);
  if (known !== undefined) return known[1];
  return id.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

const CHIPS_MAX = 3;

/** In a row: at most three, and the number of the others. */
export function SignalChips({ signals = [] }: { readonly signals: Signals | undefined }) {
  if (signals.length === 0) return null;
  const rest = signals.slice(CHIPS_MAX).map(({ id }) => wordsOf(id));
  return (
    <span class="signals">
      <span class="spoken">{t`Check: `}</span>
      {signals.slice(0, CHIPS_MAX).map(({ id }) => (
        <span key={id} class="badge signal">
          <Text>{wordsOf(id)}</Text>
        </span>
      ))}
      {rest.length > 0 && (
        <span class="badge signal">
          +{rest.length}
          <span class="spoken">{t` more`}</span>
        </span>
      )}
    </span>
  );
}
