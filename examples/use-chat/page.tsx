/**
 * The page of the chat. It shows a call that waits for a reviewer, and continues the turn after the
 * decision. The page decides nothing: the server reads the decision from Countersign.
 */

import { type UIMessage, useChat } from "@ai-sdk/react";
import {
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type ToolApprovalResponse,
} from "ai";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";

const POLL_MS = 1_000;

function Chat() {
  const { id, messages, status, sendMessage, addToolApprovalResponse } = useChat({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isWaiting = messages.some(({ parts }) => parts.some(waitsForReviewer));

  useEffect(() => {
    if (!isWaiting || status !== "ready") return;
    const timer = setInterval(async () => {
      const body = JSON.stringify({ id, messages });
      const answer = await fetch("/api/approvals", { method: "POST", body });
      const responses = (await answer.json()) as ToolApprovalResponse[];
      for (const { approvalId, approved, reason } of responses) {
        await addToolApprovalResponse({ id: approvalId, approved, ...(reason && { reason }) });
      }
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [isWaiting, status, id, messages, addToolApprovalResponse]);

  return (
    <>
      {messages.map((message) => (
        <section key={message.id}>
          {message.parts.map((part, index) => (
            // A part has no id, and keeps its place.
            <p key={keyOf(message, index)}>{describe(part)}</p>
          ))}
        </section>
      ))}
      <button
        type="button"
        disabled={status !== "ready" || isWaiting}
        onClick={() => sendMessage({ text: "Give 500 back for A-1." })}
      >
        Ask for a refund
      </button>
    </>
  );
}

function keyOf({ id }: UIMessage, index: number): string {
  return `${id}-${index}`;
}

type Part = UIMessage["parts"][number];

/** An automatic request is already decided, for example by a policy. */
function waitsForReviewer(part: Part): boolean {
  return isToolUIPart(part) && part.state === "approval-requested" && !part.approval.isAutomatic;
}

function describe(part: Part): string {
  if (part.type === "text") return part.text;
  if (!isToolUIPart(part)) return "";
  const call = `${part.type.replace("tool-", "")} ${JSON.stringify(part.input)}`;
  if (part.state === "approval-requested") return `${call}: waits for a reviewer`;
  if (part.state === "output-denied") return `${call}: did not run. ${part.approval.reason ?? ""}`;
  if (part.state === "output-available") return `${call}: done`;
  return call;
}

const chat = document.getElementById("chat");
if (chat !== null) createRoot(chat).render(<Chat />);
