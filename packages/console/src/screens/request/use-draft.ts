/**
 * The text that a reviewer has typed about a request. The tab keeps it, so that it survives a
 * sign-in or a reload.
 */

import { useState } from "preact/hooks";

export interface Draft {
  readonly note: string;
  readonly confirmation: string;
  readonly validFor: string;
  readonly reason: string;
  /** Whether the form for a denial is open. */
  readonly isDenying: boolean;
  /** Whether the reason is a question, which the agent answers with another request. */
  readonly isQuestion: boolean;
}

const EMPTY: Draft = {
  note: "",
  confirmation: "",
  validFor: "",
  reason: "",
  isDenying: false,
  isQuestion: false,
};

export interface KeptDraft {
  readonly draft: Draft;
  edit(part: Partial<Draft>): void;
  clear(): void;
}

export function useDraft(id: string): KeptDraft {
  const key = `countersign.draft.${id}`;
  const [draft, setDraft] = useState(() => read(key));
  return {
    draft,
    edit(part) {
      setDraft((before) => {
        const after = { ...before, ...part };
        write(key, after);
        return after;
      });
    },
    clear() {
      setDraft(EMPTY);
      remove(key);
    },
  };
}

function read(key: string): Draft {
  try {
    return { ...EMPTY, ...JSON.parse(sessionStorage.getItem(key) ?? "{}") };
  } catch {
    return EMPTY;
  }
}

/** A typed confirmation is proof of a moment, and is not kept. */
function write(key: string, draft: Draft): void {
  try {
    sessionStorage.setItem(key, JSON.stringify({ ...draft, confirmation: "" }));
  } catch {
    // A browser that stores nothing keeps the draft as long as the page.
  }
}

function remove(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // A browser that stores nothing has nothing to remove.
  }
}
