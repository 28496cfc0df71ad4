/** The screens by their paths, each loaded when it is first opened. */

import type { Power } from "@countersign/review-api";
import type { ComponentType } from "preact";
import type { ScreenProps } from "./screen-props.ts";

export type Screen = ComponentType<ScreenProps>;

export interface ScreenEntry {
  readonly path: string;
  /** In the navigation; the same words as the screen's heading. */
  readonly title: string;
  /** The power that the screen requires; without one, viewing is enough. */
  readonly power?: Power;
  load(): Promise<{ readonly Screen: Screen }>;
}

export const SCREENS: readonly ScreenEntry[] = [
  { path: "/inbox", title: "Inbox", load: () => import("./screens/inbox/screen.tsx") },
  { path: "/history", title: "History", load: () => import("./screens/history/screen.tsx") },
  {
    path: "/audit",
    title: "Audit",
    power: "audit",
    load: () => import("./screens/audit/screen.tsx"),
  },
  { path: "/policies", title: "Policies", load: () => import("./screens/policies/screen.tsx") },
  { path: "/instances", title: "Instances", load: () => import("./screens/instances/screen.tsx") },
  { path: "/settings", title: "Settings", load: () => import("./screens/settings/screen.tsx") },
];

const REQUEST: ScreenEntry = {
  path: "/inbox",
  title: "Request",
  load: () => import("./screens/request/screen.tsx"),
};

export interface FoundScreen {
  readonly entry: ScreenEntry;
  readonly rest: string;
}

/** The screen of a path; undefined when there is none. */
export function findScreen(path: string): FoundScreen | undefined {
  const [, name = "", ...more] = path.split("/");
  const rest = more.join("/");
  const entry = SCREENS.find((screen) => screen.path === `/${name}`);
  if (entry === undefined) return undefined;
  return entry.path === "/inbox" && rest !== "" ? { entry: REQUEST, rest } : { entry, rest };
}
