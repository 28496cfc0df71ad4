/** Makes an instance and shows its credential, this once: nothing keeps it but this page. */

import type { CreatedInstance } from "@countersign/review-api";
import { useEffect, useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { ConnectSnippets } from "../../parts/connect.tsx";
import { Page } from "../../parts/page.tsx";
import { Snippet } from "../../parts/snippet.tsx";
import { may } from "../../powers.ts";
import { signInUrl } from "../../root.ts";
import { href } from "../../route.ts";
import { OwnerField } from "./owner-field.tsx";

export function NewInstance() {
  const [created, setCreated] = useState<CreatedInstance>();
  useEffect(() => {
    // The browser may keep the page as it is and bring it back with Back.
    const forget = () => setCreated(undefined);
    addEventListener("pagehide", forget);
    addEventListener("pageshow", forget);
    return () => {
      removeEventListener("pagehide", forget);
      removeEventListener("pageshow", forget);
    };
  }, []);
  if (created !== undefined) return <ShownOnce created={created} />;
  if (!may("people")) {
    return (
      <Page title="New instance">
        <p class="lead">Your role in this project may not create instances.</p>
      </Page>
    );
  }
  return <InstanceForm onCreated={setCreated} />;
}

function InstanceForm({ onCreated }: { onCreated(created: CreatedInstance): void }) {
  const [name, setName] = useState("");
  const [owner, setOwner] = useState("");
  const [groups, setGroups] = useState("");
  const [isStale, setStale] = useState(false);
  const create = async () => {
    const body = {
      ...(name.trim() !== "" && { name: name.trim() }),
      ...(owner !== "" && { owner }),
      ...(groups.trim() !== "" && { groups: groupsIn(groups) }),
    };
    try {
      onCreated(await api.call("POST /instances", { body }));
    } catch (error) {
      setStale(error instanceof Refusal && error.status === 403);
      throw error;
    }
  };
  return (
    <Page title="New instance" lead="An identity for one agent, with its own credential.">
      <div class="panel form">
        <label class="field">
          Name (optional)
          <input
            type="text"
            maxLength={128}
            autocomplete="off"
            value={name}
            placeholder="Leave empty for a generated name"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <OwnerField
          label="Owner (optional)"
          hint="A rule can exclude the owner from approving."
          value={owner}
          onChange={setOwner}
        />
        <label class="field">
          Groups (optional)
          <input
            type="text"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={groups}
            placeholder="support-bots, eu"
            onInput={(event) => setGroups(event.currentTarget.value)}
          />
          <span class="hint">Used by policy rules. Separate with commas.</span>
        </label>
        <div class="actions">
          <Button kind="primary" onPress={create}>
            Create instance
          </Button>
          <a class="button quiet" href={href("/instances")}>
            Cancel
          </a>
        </div>
        {isStale && (
          <p>
            <a href={signInUrl()}>Sign in again</a>
          </p>
        )}
      </div>
    </Page>
  );
}

/** Names with commas or spaces between them. */
export function groupsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== "");
}

function ShownOnce({ created: { id, name, credential } }: { readonly created: CreatedInstance }) {
  return (
    <Page title="Instance created">
      <p class="note">
        The credential is displayed once. Copy it now. If you lose it, delete the instance and
        create another one.
      </p>
      <div class="panel">
        <h2>
          <Text>{name}</Text>
        </h2>
        <Snippet title="Credential" text={credential} />
      </div>
      <div class="panel">
        <h2>Connect the agent</h2>
        <p class="hint">Commands prompt for the credential: it stays out of the shell history.</p>
        <ConnectSnippets credential={credential} />
      </div>
      <div class="actions">
        <a class="button primary" href={href(`/instances/${id}`)}>
          Done
        </a>
      </div>
    </Page>
  );
}
