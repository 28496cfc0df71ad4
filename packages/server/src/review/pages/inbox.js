/**
 * The page `/inbox`: what waits for people, as it is now. A row leads to the page where it is
 * decided; nothing is decided here.
 */

import { itemSources, memberSource } from "./exact-text.js";
import { serverNow, watch } from "./live.js";
import { byId, Refusal, show, signInUrl, urlOf } from "./page.js";
import { make, nodesOf, setText } from "./texts.js";
import * as words from "./words.js";

/** Letters of the arguments in a row. */
const SHOWN_MAX = 140;
const SOON_MS = 60_000;

/** A row that has just moved is not what somebody meant to press. */
const SETTLE_MS = 300;

/** By the request's id. */
const rows = new Map();
let movedAt = Number.NEGATIVE_INFINITY;
let isFirst = true;

function makeRow(request, source) {
  const link = make("a", "");
  link.href = urlOf(`inbox/${request.id}`);
  const tool = make("span", "tool", ...nodesOf(request.tool));
  const left = make("span", "left");
  const votes = make("span", "");
  const instance = make("span", "", ...nodesOf(request.instance.name || request.instance.id));
  link.append(make("span", "head", tool, left), lineOf(memberSource(source, "arguments")));
  link.append(make("span", "foot", instance, votes));
  return { item: make("li", "", link), link, left, votes, deadline: 0, isMine: false };
}

/** The beginning of the arguments, and how much is left out. */
function lineOf(text) {
  const letters = [...text];
  const line = make("span", "line");
  line.append(...nodesOf(letters.slice(0, SHOWN_MAX).join("").replaceAll("\n", " ")));
  const rest = letters.length - SHOWN_MAX;
  if (rest > 0) line.append(make("span", "cut", ` … ${rest.toLocaleString()} more characters`));
  return line;
}

function update(request, source) {
  const row = rows.get(request.id) ?? makeRow(request, source);
  const isNew = !rows.has(request.id);
  rows.set(request.id, row);
  const { approve, deny, reason } = request.may_decide;
  row.deadline = Date.parse(request.deadline_at);
  // What one may only refuse waits for others.
  row.isMine = approve;
  setText(row.votes, words.countVotes(request));
  const why = approve ? "" : (reason ?? (deny ? "You can deny it." : ""));
  row.link.title = why;
  return isNew && row.isMine;
}

/** Puts rows in their order, and moves none that is where it belongs. */
function arrange(list, wanted) {
  for (const item of [...list.children]) if (!wanted.includes(item)) item.remove();
  let next = null;
  for (const item of wanted.toReversed()) {
    if (item.nextSibling !== next || item.parentNode !== list) {
      list.insertBefore(item, next);
      if (!isFirst) movedAt = performance.now();
    }
    next = item;
  }
}

/** What somebody looks at: the row that they are on, or the first one that they see. */
function anchorOf() {
  const focused = document.activeElement?.closest("li");
  if (focused) return focused;
  if (scrollY === 0) return undefined;
  return [...document.querySelectorAll(".cards li")].find(
    (item) => item.getBoundingClientRect().bottom > 0,
  );
}

function render() {
  const focused = document.activeElement?.closest(".cards a");
  const anchor = anchorOf();
  const topBefore = anchor?.getBoundingClientRect().top;
  const all = [...rows.values()].sort((a, b) => a.deadline - b.deadline);
  for (const [name, isMine] of [
    ["mine", true],
    ["others", false],
  ]) {
    const wanted = all.filter((row) => row.isMine === isMine).map(({ item }) => item);
    byId(name).hidden = wanted.length === 0;
    arrange(byId(`${name}-rows`), wanted);
  }
  // Whoever is on a row stays on it when it moves.
  if (focused?.isConnected && document.activeElement !== focused) {
    focused.focus({ preventScroll: true });
  }
  const mine = all.filter((row) => row.isMine).length;
  byId("empty").hidden = mine > 0;
  document.title = `${mine > 0 ? `(${mine}) ` : ""}Inbox · Countersign`;
  if (anchor?.isConnected) scrollBy(0, anchor.getBoundingClientRect().top - topBefore);
}

function tick() {
  let isOver = false;
  for (const [id, row] of rows) {
    const leftMs = row.deadline - serverNow();
    setText(row.left, words.timeLeft(leftMs));
    row.left.classList.toggle("soon", leftMs <= SOON_MS);
    if (leftMs <= 0) isOver = rows.delete(id);
  }
  if (isOver) render();
}

function takeAnswer(source) {
  const answer = JSON.parse(source);
  const sources = itemSources(memberSource(source, "requests"));
  const ids = new Set(answer.requests.map(({ id }) => id));
  for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
  let news = 0;
  for (const [index, request] of answer.requests.entries()) {
    if (update(request, sources[index])) news++;
  }
  document.body.classList.remove("stale");
  show("alert", "");
  byId("page").hidden = false;
  render();
  tick();
  show("more", answer.next === null ? "" : "More wait that end later than these.");
  const damaged = answer.damaged?.length ?? 0;
  if (damaged > 0) {
    show("more", `${damaged} that wait are damaged in the database, and nobody can decide them.`);
  }
  const mine = [...rows.values()].filter((row) => row.isMine).length;
  if (news > 0 && !isFirst) {
    show("spoken", `New: ${news}. In all ${mine} for you to decide.`);
  }
  isFirst = false;
}

const LOST = "Connection lost. What stands here may be decided by now.";

watch("requests?state=pending&limit=200", {
  onAnswer: takeAnswer,
  onLost(error) {
    if (error.status === 401) {
      location.replace(signInUrl());
      return;
    }
    if (!(error instanceof Refusal)) console.error(error);
    const isTold = error instanceof Refusal && error.status >= 400 && error.status < 500;
    show("alert", isTold ? error.message : LOST);
    byId("page").hidden = false;
    document.body.classList.add("stale");
  },
  onHidden() {},
})();
setInterval(tick, 500);

byId("page").addEventListener("click", (event) => {
  const isRow = event.target instanceof Element && event.target.closest(".cards") !== null;
  if (isRow && event.detail > 0 && performance.now() - movedAt < SETTLE_MS) event.preventDefault();
});
