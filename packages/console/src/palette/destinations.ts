/** Destinations that the palette finds by name: screens, actions, names and rules. Pure. */

import type { Power } from "@countersign/review-api";
import { t } from "../language/t.ts";
import { SCREENS } from "../screens.ts";

export interface Destination {
  readonly path: string;
  readonly text: string;
  readonly kind: string;
}

interface Action {
  readonly path: string;
  readonly text: string;
  /** The power that the action requires; without one, every user has it. */
  readonly power?: Power;
}

/** The places of actions. The palette opens the place and changes nothing. */
const ACTIONS: readonly Action[] = [
  { path: "/instances/new", text: t`Connect a new instance`, power: "people" },
  { path: "/instances", text: t`Freeze calls`, power: "freeze" },
  { path: "/policies", text: t`Edit the policy`, power: "publish" },
  { path: "/settings/people", text: t`Invite a person`, power: "people" },
  { path: "/settings/tokens", text: t`Create a token`, power: "people" },
  { path: "/settings/channels", text: t`Add a notification channel`, power: "people" },
  { path: "/all", text: t`Requests of all projects` },
  { path: "/settings", text: t`Sign out` },
];

export interface Named {
  readonly instances: readonly { readonly id: string; readonly name: string }[];
  readonly reviewers: readonly { readonly id: string; readonly name: string }[];
  /** Ids of the rules of the active policy. */
  readonly rules: readonly string[];
}

export function destinations(
  { instances, reviewers, rules }: Named,
  may: (power: Power) => boolean,
): Destination[] {
  const isAllowed = ({ power }: { readonly power?: Power }) => power === undefined || may(power);
  return [
    ...SCREENS.filter(isAllowed).map(({ path, title }) => ({ path, text: title, kind: t`Screen` })),
    ...ACTIONS.filter(isAllowed).map(({ path, text }) => ({ path, text, kind: t`Action` })),
    ...instances.map(({ id, name }) => ({
      path: `/instances/${id}`,
      text: name,
      kind: t`Instance`,
    })),
    ...reviewers.map(({ id, name }) => ({
      path: `/history?${new URLSearchParams({ by: `reviewer:${id}` })}`,
      text: name,
      kind: t`Decisions of a reviewer`,
    })),
    ...rules.map((id) => ({ path: "/policies", text: id, kind: t`Rule` })),
  ];
}
