/**
 * One request on the page: its constant parts, the digest that the browser computes of the
 * displayed text, and its current state.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import { exactText } from "@countersign/review-api/exact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { type Watch, watchRequest } from "./watch-request.ts";

export interface Shown {
  readonly request: ReviewedRequest;
  /** Letter for letter what is stored. */
  readonly argumentsText: string;
  readonly contextText: string | undefined;
  /** SHA-256 of the arguments on the page, in hex: what is decided. */
  readonly digest: string;
}

export interface RequestState {
  /** Undefined until there is something to show. */
  readonly shown: Shown | undefined;
  /** Whether the last thing that was asked of the server was answered. */
  readonly isLive: boolean;
  /** Reason why the page is not live. */
  readonly trouble: string;
  /** Why nothing is shown, or must not be decided here. */
  readonly fault: string;
  /** There is no such request in this project. */
  readonly isMissing: boolean;
}

const OPENING: RequestState = {
  shown: undefined,
  isLive: false,
  trouble: "",
  fault: "",
  isMissing: false,
};

export interface OpenRequest extends RequestState {
  /** Asks the server at once. */
  ask(): Promise<void>;
  /** Uses the state in the response to another call. */
  take(request: ReviewedRequest): void;
}

export function useRequest(id: string): OpenRequest {
  const [state, setState] = useState(OPENING);
  const watch = useRef<Watch | undefined>(undefined);
  const shown = useRef<Shown | undefined>(undefined);
  const actions = useMemo(() => {
    const show = (next: Shown) => {
      shown.current = next;
      setState({ shown: next, isLive: true, trouble: "", fault: "", isMissing: false });
    };
    return {
      ask: async () => watch.current?.ask(),
      take(request: ReviewedRequest) {
        if (shown.current !== undefined) show({ ...shown.current, request });
      },
      async onAnswer(request: ReviewedRequest) {
        show(await readAnswer(request, shown.current));
      },
      onLost(error: Error) {
        setState((before) => withTrouble(before, error));
      },
      onHidden() {
        setState((before) => ({ ...before, isLive: false }));
      },
    };
  }, []);
  useEffect(() => {
    watch.current = watchRequest(id, actions);
    return () => watch.current?.stop();
  }, [id, actions]);
  return { ...state, ask: actions.ask, take: actions.take };
}

/** @throws Error when it is another text than the one whose digest is stored, or than before */
async function readAnswer(request: ReviewedRequest, before: Shown | undefined): Promise<Shown> {
  const argumentsText = before?.argumentsText ?? exactText(request.arguments);
  const digest = before?.digest ?? (await digestOf(argumentsText));
  if (digest !== request.arguments_sha256)
    throw new Error("text that differs from the stored text");
  const contextText = request.context && exactText(request.context);
  return { request, argumentsText, contextText, digest };
}

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const LOST = t`Connection lost. You cannot approve or deny until it reconnects.`;
const TROUBLES: Readonly<Record<number, string>> = {
  401: t`You are signed out. Reload this page to sign in again.`,
  404: t`This request is in another project, or was purged.`,
};
const NOT_EXACT = t`This call cannot be shown exactly; do not decide it here.`;

function withTrouble(before: RequestState, error: Error): RequestState {
  const isFirst = before.shown === undefined;
  if (!(error instanceof Refusal)) {
    console.error(error);
    return { ...before, isLive: false, trouble: LOST, fault: NOT_EXACT };
  }
  const isMissing = isFirst && error.status === 404;
  const fault = isFirst && !isMissing ? error.message : before.fault;
  const trouble = TROUBLES[error.status] ?? LOST;
  return { ...before, isLive: false, trouble, fault, isMissing };
}
