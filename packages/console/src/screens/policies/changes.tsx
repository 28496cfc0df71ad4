/** The calls that a simulated draft changes, grouped by tool and change. */

import type { SimulatedChange, SimulationSummary } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { addressOfId } from "../../live/request-address.ts";
import { OnServer } from "../../parts/on-server.tsx";
import { href } from "../../route.ts";
import { type ChangeGroup, groupChanges } from "./change-groups.ts";
import { ChangedArguments } from "./changed-arguments.tsx";

interface ChangesProps {
  readonly changes: readonly SimulatedChange[];
  readonly summary: SimulationSummary | undefined;
}

export function Changes({ changes, summary }: ChangesProps) {
  const groups = groupChanges(changes);
  const unlisted = unlistedIn(changes, summary);
  if (groups.length === 0) return null;
  return (
    <>
      <ul class="changes">
        {groups.map((group) => (
          <GroupRow key={group.key} group={group} />
        ))}
      </ul>
      {unlisted > 0 && <p class="hint">{t`${unlisted} more are not listed.`}</p>}
    </>
  );
}

/** The number of changed calls that the server counted and did not send. */
function unlistedIn(
  changes: readonly SimulatedChange[],
  summary: SimulationSummary | undefined,
): number {
  if (summary === undefined) return 0;
  const counts = Object.values(summary.changes).reduce((sum, count) => sum + count, 0);
  return counts + summary.requirement_changed - changes.length;
}

function GroupRow({ group }: { readonly group: ChangeGroup }) {
  const [isOpen, setOpen] = useState(false);
  const { first, words, calls } = group;
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Text>{first.tool}</Text> <OnServer server={first.server} />
          <span class="change">{words}</span>,{" "}
          {plural(calls.length, { one: "1 call", other: "# calls" })}
        </summary>
        {isOpen && (
          <ul class="changed-calls">
            {calls.map((change) => (
              <CallRow key={change.id} change={change} />
            ))}
          </ul>
        )}
      </details>
    </li>
  );
}

function CallRow({ change }: { readonly change: SimulatedChange }) {
  const { id, instance, because, errors } = change;
  return (
    <li>
      <p>
        <a href={href(`/inbox/${addressOfId(id)}`)}>
          <Text>{instance.name || instance.id}</Text>
        </a>{" "}
        <span class="hint">
          {rich`rule ${<Text>{because}</Text>}`}
          {errors.map((error) => (
            <span key={error.rule} class="fault">
              {" "}
              <Text>{error.rule}</Text>: <Text>{error.message}</Text>
            </span>
          ))}
        </span>
      </p>
      <ChangedArguments id={id} />
    </li>
  );
}
