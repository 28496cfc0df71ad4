/** Whether the console hears the server, and what holds for everything: above every screen. */

import type { Freeze } from "@countersign/review-api";
import { Text } from "../exact/text.tsx";
import { type Connection, connection, freezes, mine } from "./live.ts";

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting",
  live: "Live",
  polling: "Live",
  lost: "Disconnected",
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
      <span class="spoken"> for you to decide</span>
    </span>
  );
}

export function Banners() {
  return (
    <div class="banners" role="status">
      {connection.value === "lost" && (
        <p class="banner bad">
          <strong>Disconnected.</strong> This page may be out of date. You cannot approve or deny
          until it reconnects.
        </p>
      )}
      {freezes.value.map((freeze) => (
        <Frozen key={freeze.id} freeze={freeze} />
      ))}
    </div>
  );
}

function Frozen({ freeze: { scope, instance, note, frozen_at } }: { readonly freeze: Freeze }) {
  const at = new Date(frozen_at);
  return (
    <p class="banner warn">
      <strong>Frozen.</strong>{" "}
      {scope === "instance" ? (
        <>
          Every call of <Text>{instance?.name ?? ""}</Text> is denied
        </>
      ) : (
        `Every call ${scope === "server" ? "on this server" : "in this project"} is denied`
      )}{" "}
      since <time dateTime={frozen_at}>{at.toLocaleString()}</time>
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
