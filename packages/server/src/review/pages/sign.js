/**
 * The page `/sign#REQUEST_ID`: one call with its exact arguments, approved with a passkey or denied.
 * What is signed is the digest of the text that stands on the page, computed here.
 */

import { memberSource, visiblePieces } from "./exact-text.js";
import { byId, call, onUse, Refusal, show } from "./page.js";
import { usePasskey } from "./passkeys.js";

const id = location.hash.slice(1);
const path = `requests/${encodeURIComponent(id)}`;

/** As it was written, and not as a parser would have it. */
async function readSource() {
  const response = await fetch(`review/v1/${path}`);
  const source = await response.text();
  if (response.ok) return source;
  throw new Refusal(response.status, JSON.parse(source).error ?? {});
}

function nodesOf(text) {
  return visiblePieces(text).map((piece) => {
    if (!piece.isUnseen) return document.createTextNode(piece.text);
    const mark = document.createElement("mark");
    mark.textContent = piece.text;
    return mark;
  });
}

async function digestOf(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function showCall(request, argumentsText, digest) {
  byId("tool").replaceChildren(...nodesOf(request.tool));
  byId("instance").replaceChildren(...nodesOf(request.instance.name || request.instance.id));
  const at = new Date(request.deadline_at);
  show("deadline", at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }));
  const nodes = nodesOf(argumentsText);
  byId("arguments").replaceChildren(...nodes);
  byId("unseen").hidden = !nodes.some((node) => node.nodeName === "MARK");
  const lines = argumentsText.split("\n").length;
  const letters = [...argumentsText].length;
  show("size", `${letters} characters on ${lines === 1 ? "one line" : `${lines} lines`}`);
  show("digest", digest);
  byId("call").hidden = false;
  byId("exact").hidden = false;
}

function tellDecision({ status, votes, requirement }) {
  if (status === "pending") {
    show("note", `Your approval is recorded: ${votes.length} of ${requirement.quorum}.`);
  } else {
    show("note", `The call is ${status}.`);
  }
  byId("form").hidden = true;
}

function offerVerdicts(request, digest) {
  const { may_decide: may, requirement, policy } = request;
  const { kind } = requirement.confirm;
  show("why", policy.note ?? "");
  const isRequired = requirement.note === "required";
  show("said-hint", isRequired ? "Needed to approve this call." : "Told to the agent.");
  // What has to be typed is typed elsewhere; this page only signs.
  const isOfOtherKind = kind !== "passkey" && kind !== "click";
  const typed = isOfOtherKind ? "This call is approved by typing something, not here." : "";
  show("reason", may.reason ?? typed);
  byId("approve").disabled = !may.approve || isOfOtherKind;
  byId("deny").disabled = !may.deny;
  byId("form").hidden = false;

  const said = () => byId("said").value;
  const verdictOf = (verdict) => {
    return { verdict, arguments_sha256: digest, ...(said() !== "" && { note: said() }) };
  };
  onUse(byId("approve"), "click", byId("approve"), async () => {
    const verdict = verdictOf("approve");
    if (isRequired && said().trim() === "") {
      byId("said").focus();
      throw new Refusal(400, { message: "A note is needed to approve this call." });
    }
    const { nonce, options } = await call("POST", `${path}/verdict/challenge`, verdict);
    const passkey = { nonce, assertion: await usePasskey(options) };
    tellDecision(await call("POST", `${path}/verdict`, { ...verdict, passkey }));
  });
  onUse(byId("deny"), "click", byId("deny"), async () => {
    tellDecision(await call("POST", `${path}/verdict`, verdictOf("deny")));
  });
}

async function open() {
  try {
    const source = await readSource();
    const request = JSON.parse(source);
    const argumentsText = memberSource(source, "arguments");
    const digest = await digestOf(argumentsText);
    if (digest !== request.arguments_sha256) throw new Error("another text than is stored");
    showCall(request, argumentsText, digest);
    if (request.status === "pending") offerVerdicts(request, digest);
    else tellDecision(request);
  } catch (error) {
    if (error.status === 401) {
      location.replace(`sign-in?next=${encodeURIComponent(`sign${location.hash}`)}`);
      return;
    }
    const isKnown = error instanceof Refusal;
    show(
      "alert",
      isKnown ? error.message : "This call cannot be shown exactly; do not decide it here.",
    );
  }
}

// Another request is another page.
addEventListener("hashchange", () => location.reload());
open();
