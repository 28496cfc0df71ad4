/** Sends a verdict so that it counts once, however often its answer is lost. */

import type { ReviewedRequest } from "@countersign/review-api";
import type { Input, Routes } from "@countersign/review-api/client";
import { api, Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { signWithPasskey } from "../../passkey.ts";

/** Between tries of the same verdict; one that it has, the server answers with what it said. */
const PAUSES_MS = [1_000, 2_000, 4_000];

export interface Verdict {
  readonly verdict: "approve" | "deny";
  readonly arguments_sha256: string;
  readonly note?: string;
  readonly confirmation?: string;
  readonly valid_for?: string;
  /** Like `5s`: given when that is over, unless it is taken back. */
  readonly hold?: string;
}

type SentVerdict = Input<Routes["POST /requests/{id}/verdict"]>["body"];

export interface SendOptions {
  /** Whether a passkey has to sign it. */
  readonly isSigned: boolean;
  /** No answer has come; it is sent again. */
  onAgain(): void;
}

export type SendVerdict = (verdict: Verdict, options: SendOptions) => Promise<ReviewedRequest>;

/**
 * For one request. A verdict that may have been recorded without an answer is sent again as it
 * is, signature and all, when the person presses the same again.
 *
 * @param id of the request
 */
export function verdictSender(id: string): SendVerdict {
  let unanswered: { readonly key: string; readonly body: SentVerdict } | undefined;
  return async (verdict, { isSigned, onAgain }) => {
    const key = JSON.stringify(verdict);
    if (unanswered?.key !== key) {
      unanswered = { key, body: isSigned ? await sign(id, verdict) : verdict };
    }
    try {
      const answer = await send(id, unanswered.body, onAgain);
      unanswered = undefined;
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal) || !error.isUnanswered) {
        unanswered = undefined;
        throw error;
      }
      const what = t`The server did not answer, so your verdict may or may not be recorded.`;
      throw new Refusal(error.status, { message: `${what} ${t`Press again to repeat it.`}` });
    }
  };
}

async function sign(id: string, verdict: Verdict): Promise<SentVerdict> {
  const challenge = await api.call("POST /requests/{id}/verdict/challenge", {
    path: { id },
    body: verdict,
  });
  const { nonce, options } = challenge;
  return { ...verdict, passkey: { nonce, assertion: await signWithPasskey(options) } };
}

function sendOnce(id: string, body: SentVerdict): Promise<ReviewedRequest> {
  return api.call("POST /requests/{id}/verdict", { path: { id }, body });
}

async function send(id: string, body: SentVerdict, onAgain: () => void): Promise<ReviewedRequest> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await sendOnce(id, body);
    } catch (error) {
      if (!(error instanceof Refusal) || !error.isUnanswered) throw error;
      onAgain();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return sendOnce(id, body);
}
