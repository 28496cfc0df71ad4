/** On the page of a request: what a verdict needs, and sending it so that it counts once. */

import { byId, call, onUse, Refusal, show } from "./page.js";
import { usePasskey } from "./passkeys.js";
import { nodesOf } from "./texts.js";

/** Between tries of the same verdict; the server answers a verdict that it has with what it said. */
const PAUSES_MS = [1_000, 2_000, 4_000];
const TIMEOUT_MS = 15_000;

/** A verdict that may have been recorded without an answer: sent again as it is, or not at all. */
let unanswered;

export function prepareForm({ requirement }) {
  const { confirm, note, valid_for_max: longest } = requirement;
  const isTyped = confirm.kind === "type" || confirm.kind === "match";
  byId("confirmation-field").hidden = !isTyped;
  if (confirm.kind === "type") {
    show("confirmation-label", "To approve, type exactly");
    byId("typed").replaceChildren(...nodesOf(confirm.text));
    byId("typed").hidden = false;
  }
  if (confirm.kind === "match") {
    const where = "as the agent's session shows them";
    show(
      "confirmation-label",
      `To approve, type the last 4 characters of the request's id, ${where}`,
    );
  }
  if (confirm.kind === "passkey") show("approve", "Approve with a passkey").hidden = true;
  const isRequired = note === "required";
  show("note-hint", isRequired ? "Needed to approve. The agent reads it." : "The agent reads it.");
  if (longest !== undefined) {
    show("valid_for-hint", `Like 30s or 5m, at most ${longest}; empty for what is usual here.`);
  }
}

function verdictOf(verdict, digest) {
  const { note, confirmation, valid_for } = byId("form").elements;
  const isTyped = !byId("confirmation-field").hidden;
  return {
    ...{ verdict, arguments_sha256: digest },
    ...(note.value !== "" && { note: note.value }),
    ...(verdict === "approve" && isTyped && { confirmation: confirmation.value }),
    ...(verdict === "approve" &&
      valid_for.value.trim() !== "" && { valid_for: valid_for.value.trim() }),
  };
}

/** What the server would refuse is said before anything is signed. */
function requireParts({ note = "", confirmation }, { requirement }) {
  if (confirmation === "") {
    throw new Refusal(400, {
      param: "confirmation",
      message: "must be typed to approve this call.",
    });
  }
  if (requirement.note === "required" && note.trim() === "") {
    throw new Refusal(400, { param: "note", message: "A note is needed to approve this call." });
  }
}

async function sign(path, verdict) {
  const { nonce, options } = await call("POST", `${path}/verdict/challenge`, verdict);
  return { ...verdict, passkey: { nonce, assertion: await usePasskey(options) } };
}

/** Whether the server may have recorded it all the same. */
function isUnanswered(error) {
  return error instanceof Refusal && (error.status === 0 || error.status >= 500);
}

async function sendOnce(path, body) {
  const answer = await call("POST", `${path}/verdict`, body, TIMEOUT_MS);
  // It broke off on its way.
  if (answer.status === undefined) throw new Refusal(0, {});
  return answer;
}

async function send(path, body) {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await sendOnce(path, body);
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      show("alert", "No answer yet. The same verdict is sent again.");
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return sendOnce(path, body);
}

/** @param isSigned whether a passkey has to sign it */
async function decide(path, verdict, isSigned) {
  const key = JSON.stringify(verdict);
  if (unanswered?.key !== key) {
    unanswered = { key, body: isSigned ? await sign(path, verdict) : verdict };
  }
  try {
    const answer = await send(path, unanswered.body);
    unanswered = undefined;
    show("alert", "");
    return answer;
  } catch (error) {
    if (!isUnanswered(error)) {
      unanswered = undefined;
      throw error;
    }
    const message =
      "No answer: it is not known whether your verdict counts. Press again to repeat it.";
    throw new Refusal(error.status, { message });
  }
}

/**
 * Lets the buttons do what they say, one at a time.
 *
 * @param shown what stands on the page: `request` and `digest`
 * @param onAnswer gets the request as it then stands
 * @param onRefusal something else stands than is shown
 */
export function offerVerdicts({ path, shown, onAnswer, onRefusal }) {
  const busy = byId("verdicts");
  const cast = async (word) => {
    const { request, digest } = shown();
    const verdict = verdictOf(word, digest);
    const isApproval = word === "approve";
    if (isApproval) requireParts(verdict, request);
    const isSigned = isApproval && request.requirement.confirm.kind === "passkey";
    try {
      await onAnswer(await decide(path, verdict, isSigned));
    } catch (error) {
      if (error.param === "valid_for") byId("validity").open = true;
      if (error.status === 409) onRefusal();
      throw error;
    }
  };
  for (const word of ["approve", "deny"]) onUse(byId(word), "click", busy, () => cast(word));
  onUse(byId("withdraw"), "click", busy, async () => {
    const { withdrawn } = await call("DELETE", `${path}/vote`);
    const { request } = shown();
    if (withdrawn) show("spoken", "Your approval is taken back.");
    await onRefusal();
    if (request.status === "pending") byId("deny").focus();
  });
  // Enter in a field decides nothing.
  byId("form").addEventListener("submit", (event) => event.preventDefault());
}
