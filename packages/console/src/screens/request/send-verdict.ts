/** Sends a verdict so that it counts once, however often its answer is lost. */

import { call, Refusal } from "../../api.ts";
import { signWithPasskey } from "../../passkey.ts";
import type { WireRequest } from "../../requests/wire.ts";

/** Between tries of the same verdict; one that it has, the server answers with what it said. */
const PAUSES_MS = [1_000, 2_000, 4_000];
const TIMEOUT_MS = 15_000;

export interface Verdict {
  readonly verdict: "approve" | "deny";
  readonly arguments_sha256: string;
  readonly note?: string;
  readonly confirmation?: string;
  readonly valid_for?: string;
  /** Like `5s`: given when that is over, unless it is taken back. */
  readonly hold?: string;
}

export interface SendOptions {
  /** Whether a passkey has to sign it. */
  readonly isSigned: boolean;
  /** No answer has come; it is sent again. */
  onAgain(): void;
}

export type SendVerdict = (verdict: Verdict, options: SendOptions) => Promise<WireRequest>;

/**
 * For one request. A verdict that may have been recorded without an answer is sent again as it
 * is, signature and all, when the person presses the same again.
 *
 * @param path of the request, behind `/review/v1/`
 */
export function verdictSender(path: string): SendVerdict {
  let unanswered: { readonly key: string; readonly body: unknown } | undefined;
  return async (verdict, { isSigned, onAgain }) => {
    const key = JSON.stringify(verdict);
    if (unanswered?.key !== key) {
      unanswered = { key, body: isSigned ? await sign(path, verdict) : verdict };
    }
    try {
      const answer = await send(path, unanswered.body, onAgain);
      unanswered = undefined;
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal) || !error.isUnanswered) {
        unanswered = undefined;
        throw error;
      }
      const message =
        "No answer: it is not known whether your verdict counts. Press again to repeat it.";
      throw new Refusal(error.status, { message });
    }
  };
}

interface Challenge {
  readonly nonce: string;
  readonly options: PublicKeyCredentialRequestOptionsJSON;
}

async function sign(path: string, verdict: Verdict): Promise<object> {
  const challenge = await call<Challenge>("POST", `${path}/verdict/challenge`, { body: verdict });
  const { nonce, options } = challenge;
  return { ...verdict, passkey: { nonce, assertion: await signWithPasskey(options) } };
}

async function sendOnce(path: string, body: unknown): Promise<WireRequest> {
  const options = { body, timeoutMs: TIMEOUT_MS };
  const answer = await call<WireRequest>("POST", `${path}/verdict`, options);
  // It broke off on its way.
  if (answer.status === undefined) throw new Refusal(0, {});
  return answer;
}

async function send(path: string, body: unknown, onAgain: () => void): Promise<WireRequest> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await sendOnce(path, body);
    } catch (error) {
      if (!(error instanceof Refusal) || !error.isUnanswered) throw error;
      onAgain();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return sendOnce(path, body);
}
