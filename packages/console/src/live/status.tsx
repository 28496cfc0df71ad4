/** Whether the console hears the server, and what holds for everything: above every screen. */

import type { Freeze } from "@countersign/review-api";
import type { ComponentChildren } from "preact";
import { Text } from "../exact/text.tsx";
import { rich, t } from "../language/t.ts";
import { When } from "../parts/when.tsx";
import { route } from "../route.ts";
import { type Connection, connection, freezes, mine } from "./live.ts";

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: t`Connecting`,
  live: t`Live`,
  polling: t`Live`,
  lost: t`Disconnected`,
};

export function ConnectionState() {
  const state = connection.value;
  return (
    <span class={`connection ${state}`} role="status">
      {WORDS[state]}
    </span>
  );
}

/** A larger number is shown as a bound. */
const COUNT_MAX = 99;

/** How many wait for the person, beside the name of the inbox. */
export function MineCount() {
  const count = mine.value.length;
  if (count === 0) return null;
  return (
    <span class="count">
      {count > COUNT_MAX ? `${COUNT_MAX}+` : count}
      <span class="spoken">{t` for you to decide`}</span>
    </span>
  );
}

export function Banners() {
  return (
    <div class="banners" role="status">
      {connection.value === "lost" && (
        <p class="banner bad">
          <strong>{t`Disconnected.`}</strong>{" "}
          {t`This page may be out of date. You cannot approve or deny until it reconnects.`}
        </p>
      )}
      {freezes.value
        .filter((freeze) => !isOnScreen(freeze))
        .map((freeze) => (
          <Frozen key={freeze.id} freeze={freeze} />
        ))}
    </div>
  );
}

/** The screens of instances show a freeze themselves, with the button to lift it. */
function isOnScreen({ scope, instance }: Freeze): boolean {
  const { path } = route.value;
  if (path === `/instances/${instance?.id}`) return true;
  const isOfInstances = path === "/instances" || /^\/instances\/(?!new$)/.test(path);
  return isOfInstances && scope !== "instance";
}

function Frozen({ freeze }: { readonly freeze: Freeze }) {
  const { note } = freeze;
  return (
    <p class="banner warn">
      <strong>{t`Frozen.`}</strong> {frozenCalls(freeze)}
      {note === undefined ? (
        "."
      ) : (
        <>
          : <Text>{note}</Text>
        </>
      )}
    </p>
  );
}

function frozenCalls({ scope, instance, frozen_at: at }: Freeze): ComponentChildren {
  const since = <When at={at} exact />;
  if (scope === "server") return rich`Every call on this server is denied since ${since}`;
  if (scope === "project") return rich`Every call in this project is denied since ${since}`;
  return rich`Every call of ${<Text>{instance?.name ?? ""}</Text>} is denied since ${since}`;
}
