/** Undo for scheduled verdicts, on every screen and after a reload. */

import "./undo-bar.css";
import { useComputed } from "@preact/signals";
import { Text } from "../exact/text.tsx";
import { plural, rich, t } from "../language/t.ts";
import { announce } from "../parts/announce.tsx";
import { Button, messageOf } from "../parts/button.tsx";
import { useKeys } from "../parts/keys.tsx";
import { secondsUntil } from "../requests/words.ts";
import { go, route } from "../route.ts";
import { now } from "../time.ts";
import type { PendingRequest } from "./pending-request.ts";
import { idOfAddress, rememberAddress } from "./request-address.ts";
import { undo, undoable } from "./undo.ts";

/** The request that is open. */
function openId(): string | undefined {
  return idOfAddress(route.value.path.split("/").at(-1) ?? "");
}

export function UndoBar() {
  const requests = undoable.value;
  return requests.length === 0 ? null : <Shown requests={requests} />;
}

function Shown({ requests }: { readonly requests: readonly PendingRequest[] }) {
  const [first] = requests;
  const held = first?.held;
  const commitsAt = held?.commits_at ?? "";
  const left = useComputed(() => secondsUntil(commitsAt, now.value));
  const act = async () => {
    await undo(requests);
    // One request opens again, because its reviewer wants to see it.
    if (requests.length === 1 && first !== undefined && first.id !== openId()) {
      go(`/inbox/${rememberAddress(first)}`);
    }
  };
  const press = () => void act().catch((error: unknown) => announce(messageOf(error)));
  useKeys([{ key: "z", does: t`Undo the latest approval`, press }]);
  if (first === undefined || held === undefined) return null;
  // The bar of the open request has its own button.
  if (requests.length === 1 && first.id === openId()) return null;
  const calls = plural(requests.length, { one: "1 call", other: "# calls" });
  const what = <Text>{requests.length === 1 ? first.tool : calls}</Text>;
  const doing = held.verdict === "deny" ? rich`Denying ${what}` : rich`Approving ${what}`;
  return (
    <div class="undo-bar" role="status">
      <p>
        <strong>{doing}</strong>{" "}
        <span class="hint" aria-hidden="true">
          {rich`in ${left} s`}
        </span>
      </p>
      <Button kind="primary" onPress={act}>
        {t`Undo`}
        <span class="key" aria-hidden="true">
          z
        </span>
      </Button>
    </div>
  );
}
