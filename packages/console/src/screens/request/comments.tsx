/** Comments of reviewers on the open request, for reviewers only. */

import { COMMENT_CHARS_MAX, type Comment, type ReviewedRequest } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { plural, t } from "../../language/t.ts";
import { useSubmission } from "../../parts/form.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";

export interface CommentsProps {
  readonly request: ReviewedRequest;
  /** Rereads the request. */
  onChange(): Promise<void>;
}

export function Comments({ request: { id, comment_count: count = 0 }, onChange }: CommentsProps) {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /requests/{id}/comments", { path: { id }, signal }),
    id,
  );
  const known = value?.comments.length;
  // Comments are never removed, so a higher count means new ones.
  useEffect(() => {
    if (known !== undefined && known < count) reload();
  }, [known, count, reload]);
  const sent = async () => {
    reload();
    await onChange();
  };
  return (
    <section class="panel" id="comments" aria-labelledby="comments-title">
      <header class="panel-head">
        <h2 id="comments-title">{t`Comments`}</h2>
        <span class="badge">{t`Not sent to the agent`}</span>
      </header>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <p class="hint" role="status">
        {known !== undefined && countOf(known)}
      </p>
      {known !== undefined && known > 0 && (
        <ol class="comments">
          {value?.comments.map((comment) => (
            <Item key={comment.id} comment={comment} />
          ))}
        </ol>
      )}
      {may("decide") && <CommentForm key={id} id={id} onSent={sent} />}
    </section>
  );
}

function countOf(count: number): string {
  if (count === 0) return t`No comments yet.`;
  return plural(count, { one: "1 comment", other: "# comments" });
}

function Item({ comment: { reviewer, at, text } }: { readonly comment: Comment }) {
  return (
    <li>
      <p>
        <strong>
          <Text>{reviewer}</Text>
        </strong>{" "}
        <span class="faint">
          <When at={at} />
        </span>
      </p>
      <blockquote>
        <Text>{text}</Text>
      </blockquote>
    </li>
  );
}

interface CommentFormProps {
  readonly id: string;
  onSent(): Promise<void>;
}

function CommentForm({ id, onSent }: CommentFormProps) {
  const [{ text, key }, setText] = useCommentDraft(id);
  const { isBusy, fault, submit } = useSubmission();
  const field = useRef<HTMLTextAreaElement>(null);
  useKeys([{ key: "c", does: t`Write a comment`, press: () => field.current?.focus() }]);
  const isEmpty = text.trim() === "";
  const send = async (form: HTMLFormElement) => {
    if (isEmpty) return;
    const isSent = await submit(form, async () => {
      await api.call("POST /requests/{id}/comments", {
        path: { id },
        body: { text },
        idempotencyKey: key,
      });
    });
    if (!isSent) return;
    setText("");
    field.current?.focus({ preventScroll: true });
    await onSent();
  };
  return (
    <form
      class="comment-form"
      aria-label={t`Comment`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
        event.preventDefault();
        void send(event.currentTarget);
      }}
    >
      <label for="comment">{t`Comment for other reviewers`}</label>
      <textarea
        id="comment"
        name="text"
        ref={field}
        rows={2}
        value={text}
        readOnly={isBusy}
        aria-invalid={fault !== undefined}
        aria-describedby="comment-below"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <div id="comment-below">
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault.message}
          </p>
        )}
        {text.length > COMMENT_CHARS_MAX && (
          <p class="fault">{t`${text.length} of ${COMMENT_CHARS_MAX} characters`}</p>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="plain" id="send-comment" disabled={isEmpty} aria-busy={isBusy}>
          {t`Add comment`}
        </button>
      </div>
    </form>
  );
}

interface Draft {
  readonly text: string;
  /** Sent with this text. If its answer is lost, sending it again adds no second comment. */
  readonly key: string;
}

function storedDraft(name: string): Draft {
  try {
    const stored = JSON.parse(sessionStorage.getItem(name) ?? "null") as Draft | null;
    if (stored !== null) return { text: String(stored.text), key: String(stored.key) };
  } catch {
    // Nothing is stored.
  }
  return newDraft("");
}

function newDraft(text: string): Draft {
  return { text, key: crypto.randomUUID() };
}

/** The tab keeps the draft, so that it survives a sign-in or a reload. */
function useCommentDraft(id: string): [Draft, (text: string) => void] {
  const name = `countersign.comment-draft.${id}`;
  const [draft, setDraft] = useState(() => storedDraft(name));
  const change = (text: string) => {
    const next = newDraft(text);
    setDraft(next);
    try {
      if (text === "") sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, JSON.stringify(next));
    } catch {
      // A browser that stores nothing keeps the draft as long as the page.
    }
  };
  return [draft, change];
}
