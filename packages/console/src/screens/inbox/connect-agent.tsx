/**
 * How an agent comes to ask here, in an inbox in which nothing is: a credential made with one
 * press, and commands to copy with it. It stays until it is put away, also when the first request
 * has come.
 */

import type { CreatedInstance } from "@countersign/review-api";
import { signal } from "@preact/signals";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConnectSnippets } from "../../parts/connect.tsx";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";

/** Of this page; nothing else keeps it. */
const created = signal<CreatedInstance | undefined>(undefined);

export function ConnectAgent() {
  if (!may("people")) {
    return (
      <p class="hint">
        {t`To connect an agent, ask an admin of the project for a credential for it.`}
      </p>
    );
  }
  // A second press would create another agent; the first one is shown below.
  if (created.value !== undefined) return null;
  return (
    <div class="actions">
      <Button
        kind="primary"
        onPress={async () => {
          created.value = await api.call("POST /instances", { body: {} });
        }}
      >
        {t`Connect an agent`}
      </Button>
      <a class="button" href={href("/instances/new")}>
        {t`Set name and groups first`}
      </a>
    </div>
  );
}

/** The credential of an agent; undefined before it is created here. */
export function ConnectedAgent() {
  if (created.value === undefined) return null;
  const { name, credential } = created.value;
  return (
    <section class="panel" aria-labelledby="connect-title">
      <div class="panel-head">
        <h2 id="connect-title">{rich`Let ${<Text>{name}</Text>} ask`}</h2>
        <Button
          onPress={() => {
            created.value = undefined;
          }}
        >
          {t`Done`}
        </Button>
      </div>
      <p class="note">
        {t`The credential is displayed only once. Requests of the agent appear here.`}
      </p>
      <ConnectSnippets credential={credential} />
    </section>
  );
}
