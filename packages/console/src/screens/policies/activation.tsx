/** The question before a version becomes active, and the confirmation afterwards. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plural, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { type DiffLine, type Hunk, lineDiff } from "../../previews/line-diff.ts";

interface QuestionProps {
  readonly title: string;
  readonly lead: string;
  /** Sources of the active version and of the next one. */
  readonly before: string;
  readonly after: string;
  /** Text of the button that goes on. */
  readonly verb: string;
  onClose(): void;
  onConfirm(): Promise<void>;
}

export function ActivationQuestion(props: QuestionProps) {
  const { title, lead, before, after, verb, onClose, onConfirm } = props;
  const hunks = lineDiff(before, after);
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onPress={onClose}>{t`Cancel`}</Button>
          <Button kind="primary" onPress={onConfirm}>
            {verb}
          </Button>
        </>
      }
    >
      <p>
        {lead} {sizeOf(hunks)}
      </p>
      {hunks.length > 0 && <DiffLines hunks={hunks} />}
    </Dialog>
  );
}

/** Like `2 lines added, 1 line removed.` */
function sizeOf(hunks: readonly Hunk[]): string {
  const lines = hunks.flat();
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const added = count("added");
  const removed = count("removed");
  if (added === 0 && removed === 0) return t`The text is the same.`;
  const words = [
    ...(added > 0 ? [plural(added, { one: "1 line added", other: "# lines added" })] : []),
    ...(removed > 0 ? [plural(removed, { one: "1 line removed", other: "# lines removed" })] : []),
  ];
  return `${words.join(", ")}.`;
}

/** The result of an action. */
export interface Outcome {
  readonly words: string;
  /** The version that became active, and the one before it. */
  readonly activated?: { readonly number: number; readonly former: number };
}

interface OutcomeProps {
  readonly outcome: Outcome;
  readonly children?: ComponentChildren;
}

/** Focused when it appears, so that it is read and the next key starts there. */
export function OutcomeNote({ outcome, children }: OutcomeProps) {
  const note = useRef<HTMLDivElement>(null);
  useEffect(() => note.current?.focus(), []);
  return (
    <div class="note good outcome" role="status" tabIndex={-1} ref={note}>
      <p>{outcome.words}</p>
      {children}
    </div>
  );
}
