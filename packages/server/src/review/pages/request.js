/**
 * The page `/inbox/ID`: one call with its exact arguments, and what becomes of it, as it is now.
 * What is decided is the digest of the text that stands on the page, computed here.
 */

import { memberSource } from "./exact-text.js";
import { serverNow, watch } from "./live.js";
import { byId, call, onUse, Refusal, show, signInUrl, urlOf } from "./page.js";
import { offerVerdicts, prepareForm } from "./request-verdict.js";
import { make, nodesOf, setText, visibleText } from "./texts.js";
import * as words from "./words.js";

const id = location.pathname.split("/").at(-1);
const path = `requests/${id}`;

/** What is told once more when so much time is left. */
const LAST_CALL_MS = 60_000;

const seen = {
  request: undefined,
  /** Of the arguments on the page; without it nothing can be decided. */
  digest: undefined,
  /** The reviewer that the person is in the project. */
  me: undefined,
  /** Whether the last thing that was asked of the server was answered. */
  isLive: false,
  /** What keeps the page from being live. */
  trouble: "",
  hasEndBeenShown: false,
  /** Whether there was something to press; it then stays where it is. */
  isOffered: false,
};

async function digestOf(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What scrolls is reached with the keyboard as well. */
function makeReachable(box, title) {
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-labelledby", title);
}

/** The end of the arguments was on the screen, or all of them were asked for. */
function watchEnd() {
  const box = byId("arguments-box");
  makeReachable(box, "arguments-title");
  makeReachable(byId("reasoning-box"), "claim-title");
  makeReachable(byId("context-box"), "context-title");
  const button = byId("show-all");
  const showAll = () => {
    box.classList.add("whole");
    button.hidden = true;
    seen.hasEndBeenShown = true;
    refresh();
  };
  button.addEventListener("click", () => {
    showAll();
    box.focus({ preventScroll: true });
  });
  new ResizeObserver(() => {
    const isWhole = box.classList.contains("whole");
    button.hidden = isWhole || box.scrollHeight <= box.clientHeight + 1;
  }).observe(box);
  // What is behind the bar is not on the screen.
  const rootMargin = `0px 0px -${byId("decide").offsetHeight}px 0px`;
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      seen.hasEndBeenShown = true;
      refresh();
    },
    { rootMargin },
  );
  observer.observe(byId("end"));
}

/** What never changes. */
function showCall(request, source, argumentsText) {
  const { tool, instance, policy, requirement, agent_reasoning: reasoning } = request;
  document.title = `${visibleText(tool)} · Countersign`;
  byId("tool").replaceChildren(...nodesOf(tool));
  byId("instance").replaceChildren(...nodesOf(instance.name || instance.id));
  show("why", "").append(...nodesOf(policy.note ?? ""));
  byId("why").hidden = policy.note === undefined;
  const nodes = nodesOf(argumentsText);
  byId("arguments").replaceChildren(...nodes);
  byId("unseen").hidden = !nodes.some((node) => node.nodeName === "MARK");
  const lines = argumentsText.split("\n").length;
  const letters = [...argumentsText].length.toLocaleString();
  show("size", `${letters} characters on ${lines === 1 ? "one line" : `${lines} lines`}`);
  show("digest", seen.digest);

  setText(byId("who"), words.whoIsAsked(requirement));
  show("takes", words.whatIsNeeded(requirement));
  byId("takes-row").hidden = byId("takes").hidden;
  const at = new Date(request.deadline_at);
  show("deadline", at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }));
  setText(byId("because"), causeOf(policy));
  const context = memberSource(source, "context");
  byId("around").hidden = context === undefined;
  byId("context").replaceChildren(...nodesOf(context ?? ""));
  byId("claim").hidden = reasoning === undefined || reasoning === null;
  byId("reasoning").replaceChildren(...nodesOf(reasoning ?? ""));
  for (const part of ["call", "exact", "asked", "decide"]) byId(part).hidden = false;
}

const CAUSES = {
  "no-match": "no rule that matches",
  "no-policy": "no policy: people decide all calls",
  error: "a rule that failed",
  inexact: "a number that policy cannot hold exactly",
};

function causeOf({ because, errors }) {
  const cause = CAUSES[because] ?? `the rule ${because}`;
  return errors.length === 0
    ? cause
    : `${cause}; failed: ${errors.map((one) => one.rule).join(", ")}`;
}

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

function rowOf({ reviewer, at, note }) {
  const text = make("div", "", make("strong", "", ...nodesOf(reviewer)), " approved at ");
  text.append(TIME.format(new Date(at)));
  if (note !== undefined) text.append(make("p", "hint", ...nodesOf(note)));
  return make("li", "", text);
}

function hasVoted({ votes }) {
  return votes.some(({ reviewer }) => reviewer === seen.me);
}

/** What there is to say about how it stands; empty when people are just to decide. */
function statusOf(request) {
  if (seen.trouble !== "") return seen.trouble;
  if (request.status !== "pending") return `${words.outcomeOf(request, seen.me)}.`;
  if (!hasVoted(request)) return "";
  return `Your approval is kept. ${words.stillMissing(request)}`;
}

function reasonOf({ status, may_decide: may }, isOver) {
  if (status !== "pending" || isOver) return "";
  if (may.reason !== undefined) return may.reason;
  return seen.hasEndBeenShown ? "" : "To approve, read to the end of the arguments or show all.";
}

/** All that depends on time, on the connection and on what others do. */
function refresh() {
  const { request } = seen;
  if (request === undefined) return;
  const { may_decide: may } = request;
  const isPending = request.status === "pending";
  const leftMs = Date.parse(request.deadline_at) - serverNow();
  const isOver = isPending && leftMs <= 0;
  const isOpen = isPending && !isOver && seen.isLive;
  const isMine = isPending && hasVoted(request);
  seen.isOffered ||= isPending && (may.approve || may.deny);

  const focused = document.activeElement;
  const wasOn = focused instanceof HTMLButtonElement && !focused.disabled;
  // Where they stand, they stay: a second tap must not meet another button.
  byId("approve").hidden = !seen.isOffered;
  byId("deny").hidden = !seen.isOffered;
  byId("withdraw").hidden = !isMine;
  byId("approve").disabled = !(isOpen && may.approve && seen.hasEndBeenShown);
  byId("deny").disabled = !(isOpen && may.deny);
  byId("withdraw").disabled = !isOpen;
  byId("form").hidden = !seen.isOffered || !isPending;

  setText(byId("status"), statusOf(request));
  byId("status").className = seen.trouble === "" ? request.status : "trouble";
  setText(byId("reason"), isMine ? "" : reasonOf(request, isOver));
  byId("reason").hidden = byId("reason").textContent === "";
  setText(byId("left"), isPending ? words.timeLeft(leftMs) : "");
  byId("left").classList.toggle("soon", isPending && leftMs <= LAST_CALL_MS);
  if (isPending && leftMs <= LAST_CALL_MS) {
    setText(byId("spoken"), isOver ? "Time is up." : "Less than a minute is left.");
  }
  // Whoever had pressed the button goes on from what came of it.
  if (wasOn && !isPending && focused.closest("#decide") !== null) byId("status").focus();
}

/** How it stands now. */
function update(request) {
  seen.request = request;
  setText(byId("count"), words.countVotes(request));
  byId("count-row").hidden = byId("count").textContent === "";
  const votes = JSON.stringify(request.votes);
  if (byId("votes").dataset.votes !== votes) {
    byId("votes").dataset.votes = votes;
    byId("votes").replaceChildren(...request.votes.map(rowOf));
  }
  const said = request.decision?.note ?? "";
  setText(byId("said"), said === "" ? "" : `Note: ${said}`);
  byId("said").hidden = said === "";
  refresh();
}

async function takeAnswer(source) {
  const request = JSON.parse(source);
  if (seen.digest === undefined) {
    const argumentsText = memberSource(source, "arguments");
    const digest = await digestOf(argumentsText);
    if (digest !== request.arguments_sha256) throw new Error("another text than is stored");
    seen.me ??= (await call("GET", "session")).project?.reviewer.name;
    seen.digest = digest;
    showCall(request, source, argumentsText);
    prepareForm(request);
    watchEnd();
  } else if (request.arguments_sha256 !== seen.digest) {
    throw new Error("another text than is stored");
  }
  seen.isLive = true;
  seen.trouble = "";
  update(request);
}

/** Somebody in several projects may look at another one than the link is about. */
async function offerProjects() {
  show("fault", "There is no such request in your project. It may have been erased.");
  const { project, projects } = await call("GET", "session");
  const others = projects.filter(({ id }) => id !== project?.id);
  byId("projects").replaceChildren(
    ...others.map(({ id, name }) => {
      const button = make("button", "secondary", "Look in the project ", ...nodesOf(name));
      button.type = "button";
      onUse(button, "click", button, async () => {
        await call("POST", "session/project", { project_id: id });
        location.reload();
      });
      return button;
    }),
  );
  byId("projects").hidden = others.length === 0;
}

function loseTouch(error) {
  seen.isLive = false;
  const { status } = error;
  const isFirst = seen.digest === undefined;
  if (status === 401 && isFirst) {
    location.replace(signInUrl());
    return;
  }
  if (isFirst && status === 404) offerProjects().catch(() => {});
  else if (!(error instanceof Refusal)) {
    console.error(error);
    show("fault", "This call cannot be shown exactly; do not decide it here.");
  } else if (isFirst) show("fault", error.message);
  seen.trouble = TROUBLES[status] ?? "Connection lost. Nothing can be decided until it is back.";
  refresh();
}

const TROUBLES = {
  401: "You are signed out. Reload this page to sign in again.",
  404: "This request is not there any more.",
};

function open() {
  if (id === "") {
    location.replace(urlOf("inbox"));
    return;
  }
  const ask = watch(path, {
    onAnswer(source) {
      show("fault", "");
      return takeAnswer(source);
    },
    onLost: loseTouch,
    onHidden() {
      seen.isLive = false;
      refresh();
    },
  });
  offerVerdicts({
    path,
    shown: () => seen,
    onAnswer(request) {
      update(request);
      return ask();
    },
    onRefusal: ask,
  });
  setInterval(refresh, 250);
  ask();
}

open();
