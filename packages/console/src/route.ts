/**
 * Which project and screen are open, by the address: it can be reloaded, shared and gone back to.
 * Links are ordinary links. A page belongs to one project: another one is loaded as a new page, so
 * nothing of one project stays in the page of another.
 */

import { computed, signal } from "@preact/signals";
import { pathOf, urlOf } from "./root.ts";

export interface Route {
  /** Id of the project; undefined in an address without one. */
  readonly project: string | undefined;
  /** Like `/inbox/ID`; without what a proxy puts in front, and without the project. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const IN_PROJECT = /^\/p\/([\w-]+)(\/.*)?$/;
const EMPTY = new URLSearchParams();

export const route = signal(read());

/** Changes once at most: when an address without a project gets one. */
const project = computed(() => route.value.project);

/** Set by a screen with something unsaved: asks the person, and says whether to go. */
export const mayLeave: { current: (() => boolean) | undefined } = { current: undefined };

function read(): Route {
  return readUrl(new URL(location.href)) ?? { project: undefined, path: "/", query: EMPTY };
}

/** @returns undefined for another server */
function readUrl(url: URL): Route | undefined {
  const whole = pathOf(url);
  if (whole === undefined) return undefined;
  const [, inAddress, rest = "/"] = IN_PROJECT.exec(whole) ?? [];
  const path = inAddress === undefined ? whole : rest;
  return { project: inAddress, path, query: url.searchParams };
}

/** Adds the project to an address without one: an old link, or one that a user typed. */
export function addProject(id: string): void {
  if (route.peek().project !== undefined) return;
  const { path } = route.peek();
  history.replaceState(history.state, "", hrefIn(id, path) + location.search + location.hash);
  route.value = read();
}

export interface GoOptions {
  /** Instead of the present entry of the history. */
  readonly replace?: boolean;
}

/** In an entry of the history: the page of this console that led to it. */
interface Entry {
  readonly from?: string;
}

/** Opens a screen; `path` is like `/inbox?filter=x`. */
export function go(path: string, { replace = false }: GoOptions = {}): void {
  const url = href(path);
  if (mayLeave.current?.() === false) return;
  if (replace) history.replaceState(history.state, "", url);
  else {
    const entry: Entry = { from: route.value.path + location.search };
    history.pushState(entry, "", url);
  }
  const before = route.value.path;
  route.value = read();
  if (!replace && route.value.path !== before) scrollTo(0, 0);
}

/**
 * Goes back to a list. Where the list led here, the browser goes back, so that the list keeps its
 * filters and its place.
 *
 * @param list like `/inbox`
 */
export function goBackTo(list: string): void {
  const from = (history.state as Entry | null)?.from;
  const isFromList = from === list || from?.startsWith(`${list}?`) === true;
  if (isFromList && mayLeave.current?.() !== false) history.back();
  else if (!isFromList) go(list);
}

/** The address of a link to a screen of the same project. */
export function href(path: string): string {
  return project.value === undefined ? urlOf(path.slice(1)) : hrefIn(project.value, path);
}

/** The address of a link to a screen of any project. @param id of the project */
export function hrefIn(id: string, path: string): string {
  return urlOf(`p/${id}${path}`);
}

/** This page in another project. */
export function hereIn(id: string): string {
  const { path, query } = route.value;
  const text = query.toString();
  return hrefIn(id, path === "/" ? "/inbox" : path) + (text === "" ? "" : `?${text}`);
}

/** Opens links between screens without loading the page anew. */
export function followLinks(isScreen: (path: string) => boolean): void {
  addEventListener("popstate", () => {
    const before = route.peek().project;
    route.value = read();
    if (route.peek().project !== before) location.reload();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    const to = readUrl(url);
    if (to === undefined || to.project !== project.peek() || !isScreen(to.path)) return;
    event.preventDefault();
    go(to.path + url.search);
  });
}
