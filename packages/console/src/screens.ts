/** The screens by their paths, each loaded when it is first opened. */

import type { Power } from "@countersign/review-api";
import type { ComponentType } from "preact";
import { t } from "./language/t.ts";
import type { ScreenProps } from "./screen-props.ts";

export type Screen = ComponentType<ScreenProps>;

export interface ScreenEntry {
  readonly path: string;
  /** Of its styles. */
  readonly name: string;
  /** In the navigation; the same words as the screen's heading. */
  readonly title: string;
  /** The power that the screen requires; without one, viewing is enough. */
  readonly power?: Power;
  /** Stays open while the rest of its path changes. */
  readonly isKept?: boolean;
  load(): Promise<{ readonly Screen: Screen }>;
}

export const SCREENS: readonly ScreenEntry[] = [
  {
    path: "/inbox",
    name: "inbox",
    title: t`Inbox`,
    isKept: true,
    load: () => import("./screens/inbox/screen.tsx"),
  },
  {
    path: "/history",
    name: "history",
    title: t`History`,
    load: () => import("./screens/history/screen.tsx"),
  },
  {
    path: "/dashboard",
    name: "dashboard",
    title: t`Dashboard`,
    load: () => import("./screens/dashboard/screen.tsx"),
  },
  {
    path: "/audit",
    name: "audit",
    title: t`Audit`,
    power: "audit",
    load: () => import("./screens/audit/screen.tsx"),
  },
  {
    path: "/policies",
    name: "policies",
    title: t`Policies`,
    load: () => import("./screens/policies/screen.tsx"),
  },
  {
    path: "/instances",
    name: "instances",
    title: t`Instances`,
    load: () => import("./screens/instances/screen.tsx"),
  },
  {
    path: "/settings",
    name: "settings",
    title: t`Settings`,
    load: () => import("./screens/settings/screen.tsx"),
  },
];

/** One request, opened from the history. */
const PAST_REQUEST: ScreenEntry = {
  path: "/history",
  name: "request",
  title: t`Request`,
  load: () => import("./screens/request/screen.tsx"),
};

const SESSION: ScreenEntry = {
  path: "/sessions",
  name: "session",
  title: t`Session`,
  load: () => import("./screens/session/screen.tsx"),
};

const ALL: ScreenEntry = {
  path: "/all",
  name: "all",
  title: t`All projects`,
  load: () => import("./screens/all/screen.tsx"),
};

export interface FoundScreen {
  readonly entry: ScreenEntry;
  readonly rest: string;
}

/** The screen of a path; undefined when there is none. */
export function findScreen(path: string): FoundScreen | undefined {
  const [, name = "", ...more] = path.split("/");
  const rest = more.join("/");
  const entry = [...SCREENS, SESSION, ALL].find((screen) => screen.path === `/${name}`);
  if (entry === undefined) return undefined;
  return entry.path === PAST_REQUEST.path && rest !== ""
    ? { entry: PAST_REQUEST, rest }
    : { entry, rest };
}
