/**
 * State of deciding the open request: the fields, the buttons and the server's answers. One action
 * runs at a time.
 */

import type { Grant, ReviewedRequest } from "@countersign/review-api";
import { useMemo, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { takeRequest } from "../../live/pending-list.ts";
import { latestVerdict } from "../../live/undo.ts";
import { announce } from "../../parts/announce.tsx";
import { messageOf } from "../../parts/button.tsx";
import { now } from "../../time.ts";
import { HOLD_MS, hasUndo } from "./available-actions.ts";
import { noteOfDenial } from "./deny-note.ts";
import { REST_NOTE_CHARS_MAX, type RestTools } from "./rest-grant.ts";
import { type Verdict, verdictSender } from "./send-verdict.ts";
import { type Draft, useDraft } from "./use-draft.ts";
import type { OpenRequest, Shown } from "./use-request.ts";
import { useRestGrant } from "./use-rest-grant.ts";

/** By the member of the body that it is about. */
export type Faults = Readonly<Record<string, string>>;

export interface Decision {
  readonly draft: Draft;
  edit(part: Partial<Draft>): void;
  /** The running action. */
  readonly busy: "approve" | "approve-rest" | "deny" | "withdraw" | "undo" | undefined;
  /** Error message, or a notice that the answer is late. */
  readonly alert: string;
  readonly faults: Faults;
  /** Announcement for screen readers. */
  readonly announcement: string;
  readonly isDenying: boolean;
  openDenial(): void;
  closeDenial(): void;
  /** It can be taken back for some seconds, where there is time for that. */
  approve(): Promise<void>;
  /** Approves the call, and creates a grant for the rest of its response. */
  approveRest(tools: RestTools): Promise<void>;
  /** The grant for the rest of the response. */
  readonly grant: Grant | undefined;
  revokeGrant(): Promise<void>;
  deny(): Promise<void>;
  withdraw(): Promise<void>;
  undo(): Promise<void>;
}

const HOLD = `${HOLD_MS / 1_000}s`;

/** Pending: other approvals are missing. */
const RESULTS: Readonly<Record<ReviewedRequest["status"], (tool: string) => string>> = {
  approved: (tool) => t`Approved ${tool}.`,
  denied: (tool) => t`Denied ${tool}.`,
  pending: (tool) => t`Recorded your approval of ${tool}.`,
  expired: (tool) => t`Expired: ${tool}.`,
  cancelled: (tool) => t`Cancelled: ${tool}.`,
};

/** Of a member, its field on the page. */
const FIELDS: Readonly<Record<string, string>> = {
  note: "note",
  confirmation: "confirmation",
  valid_for: "valid_for",
};

export interface DecisionOptions {
  readonly id: string;
  readonly open: OpenRequest;
  /** The same call was denied before: approving it needs a reason. */
  readonly wasDeniedBefore: boolean;
  /** A verdict of the user was recorded or scheduled. */
  onDecided(): void;
}

export function useDecision(options: DecisionOptions): Decision {
  const { id, open, wasDeniedBefore, onDecided } = options;
  const send = useMemo(() => verdictSender(id), [id]);
  const { draft, edit, clear } = useDraft(id);
  const [announcement, setAnnouncement] = useState("");
  const { grant, createGrant, revokeGrant } = useRestGrant();
  const { busy, alert, faults, once, untilIdle, say } = useOnce(open);

  async function cast(verdict: Verdict): Promise<ReviewedRequest> {
    const isSigned =
      verdict.verdict === "approve" && open.shown?.request.requirement.confirm.kind === "passkey";
    const onAgain = () => say(t`No answer yet. Sending the same verdict again.`);
    const answer = await send(verdict, { isSigned, onAgain });
    say("");
    // A result of an earlier action would contradict this one.
    setAnnouncement("");
    if (answer.held !== undefined) latestVerdict.value = [id];
    clear();
    open.take(answer);
    takeRequest(answer);
    void open.ask();
    return answer;
  }

  /** The reviewer goes on to another request, so the result is announced. */
  function finish({ tool, status, held }: ReviewedRequest): void {
    // The bar with Undo announces a scheduled verdict.
    if (held === undefined) announce(RESULTS[status](tool));
    onDecided();
  }

  async function takeBack(): Promise<void> {
    try {
      const { taken_back: isBack } = await api.call("DELETE /requests/{id}/held", {
        path: { id },
      });
      if (isBack) setAnnouncement(t`Undone. Nothing is decided.`);
    } finally {
      await revokeGrant();
    }
    await open.ask();
  }

  return {
    draft,
    grant,
    revokeGrant,
    busy,
    alert,
    faults,
    announcement,
    isDenying: draft.isDenying,
    edit,
    openDenial() {
      say("");
      edit({ reason: draft.reason || draft.note, isDenying: true });
    },
    closeDenial: () => edit({ isDenying: false }),
    approve: () =>
      once("approve", async () => {
        const { shown } = open;
        if (shown === undefined) return;
        requireParts(shown.request, draft, wasDeniedBefore);
        finish(await cast(approvalOf(shown, draft)));
      }),
    approveRest: (tools) =>
      once("approve-rest", async () => {
        const { shown } = open;
        if (shown === undefined) return;
        requireParts(shown.request, draft, wasDeniedBefore);
        requireShortNote(draft);
        // Without the approval of this call, there is no grant.
        await cast(approvalOf(shown, draft));
        await createGrant(shown.request, tools, draft.note);
        setAnnouncement(t`A grant approves the rest of this response.`);
      }),
    deny: () =>
      once("deny", async () => {
        const { shown } = open;
        if (shown === undefined || draft.reason.trim() === "") return;
        const note = noteOfDenial(draft);
        finish(await cast({ verdict: "deny", arguments_sha256: shown.digest, note }));
      }),
    withdraw: () =>
      once("withdraw", async () => {
        const { withdrawn } = await api.call("DELETE /requests/{id}/vote", { path: { id } });
        if (withdrawn) setAnnouncement(t`Your approval is withdrawn.`);
        await open.ask();
      }),
    async undo() {
      await untilIdle();
      await once("undo", takeBack);
    },
  };
}

type Work = NonNullable<Decision["busy"]>;

const NOTHING: { readonly alert: string; readonly faults: Faults } = { alert: "", faults: {} };

/** One thing at a time, and what went wrong with it: at the field that it is about. */
function useOnce(open: OpenRequest) {
  const [busy, setBusy] = useState<Work | undefined>();
  const [feedback, setFeedback] = useState(NOTHING);
  const isBusy = useRef(false);
  const running = useRef(Promise.resolve());

  function reportError(error: unknown): void {
    const param = error instanceof Refusal ? error.param : undefined;
    const field = param === undefined ? undefined : FIELDS[param];
    const isThere = field !== undefined && document.getElementById(field) !== null;
    const message = messageOf(error);
    if (!isThere || param === undefined) setFeedback({ ...NOTHING, alert: message });
    else {
      setFeedback({ ...NOTHING, faults: { [param]: sentenceOf(message, param) } });
      // The field can be in a section that opens only now.
      requestAnimationFrame(() => document.getElementById(field)?.focus());
    }
    if (error instanceof Refusal && error.status === 409) void open.ask();
  }

  async function once(what: Work, work: () => Promise<void>): Promise<void> {
    if (isBusy.current) return;
    isBusy.current = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    running.current = promise;
    setBusy(what);
    setFeedback(NOTHING);
    try {
      await work();
    } catch (error) {
      reportError(error);
    } finally {
      isBusy.current = false;
      setBusy(undefined);
      resolve();
    }
  }
  return {
    ...feedback,
    busy,
    once,
    untilIdle: () => running.current,
    say: (alert: string) => setFeedback({ ...NOTHING, alert }),
  };
}

export function isTyped({ requirement: { confirm } }: ReviewedRequest): boolean {
  return confirm.kind === "type" || confirm.kind === "match";
}

/** Reports missing fields before anything is signed. */
function requireParts(request: ReviewedRequest, draft: Draft, wasDeniedBefore: boolean): void {
  if (isTyped(request) && draft.confirmation === "") {
    throw new Refusal(400, {
      param: "confirmation",
      message: t`must be typed to approve this call.`,
    });
  }
  if (draft.note.trim() !== "") return;
  if (request.requirement.note === "required") {
    throw new Refusal(400, { param: "note", message: t`Enter a note to approve this call.` });
  }
  if (wasDeniedBefore) {
    const message = t`Enter a note: this call was denied before.`;
    throw new Refusal(400, { param: "note", message });
  }
}

function requireShortNote({ note }: Draft): void {
  if (note.length <= REST_NOTE_CHARS_MAX) return;
  const max = String(REST_NOTE_CHARS_MAX);
  const message = t`Use at most ${max} characters: later approvals repeat the note.`;
  throw new Refusal(400, { param: "note", message });
}

function approvalOf({ request, digest }: Shown, draft: Draft): Verdict {
  const validFor = draft.validFor.trim();
  return {
    verdict: "approve",
    arguments_sha256: digest,
    ...(draft.note !== "" && { note: draft.note }),
    ...(isTyped(request) && { confirmation: draft.confirmation }),
    ...(validFor !== "" && { valid_for: validFor }),
    ...(hasUndo(request, now.value) && { hold: HOLD }),
  };
}

/** Removes the field's wire name from the server's message, because the label is beside it. */
function sentenceOf(message: string, param: string): string {
  const rest = message.startsWith(`${param} `) ? message.slice(param.length + 1) : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
