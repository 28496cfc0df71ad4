/** Makes an instance and shows its credential, this once: nothing keeps it but this page. */

import type { CreatedInstance } from "@countersign/review-api";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConnectSnippets } from "../../parts/connect.tsx";
import { Page } from "../../parts/page.tsx";
import { may } from "../../powers.ts";
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
      <Page title={t`New instance`}>
        <p class="lead">{t`Your role in this project may not create instances.`}</p>
      </Page>
    );
  }
  return <InstanceForm onCreated={setCreated} />;
}

function InstanceForm({ onCreated }: { onCreated(created: CreatedInstance): void }) {
  const [name, setName] = useState("");
  const [owner, setOwner] = useState("");
  const [groups, setGroups] = useState("");
  const create = async () => {
    const body = {
      ...(name.trim() !== "" && { name: name.trim() }),
      ...(owner !== "" && { owner }),
      ...(groups.trim() !== "" && { groups: groupsIn(groups) }),
    };
    onCreated(await api.call("POST /instances", { body }));
  };
  return (
    <Page title={t`New instance`} lead={t`An identity for one agent, with its own credential.`}>
      <div class="panel form">
        <label class="field">
          {t`Name (optional)`}
          <input
            type="text"
            maxLength={128}
            autocomplete="off"
            value={name}
            placeholder={t`Leave empty for a generated name`}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <OwnerField
          label={t`Owner (optional)`}
          hint={t`A rule can exclude the owner from approving.`}
          value={owner}
          onChange={setOwner}
        />
        <label class="field">
          {t`Groups (optional)`}
          <input
            type="text"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={groups}
            placeholder={t`support-bots, eu`}
            onInput={(event) => setGroups(event.currentTarget.value)}
          />
          <span class="hint">{t`Used by policy rules. Separate with commas.`}</span>
        </label>
        <div class="actions">
          <Button kind="primary" onPress={create}>
            {t`Create instance`}
          </Button>
          <a class="button quiet" href={href("/instances")}>
            {t`Cancel`}
          </a>
        </div>
      </div>
    </Page>
  );
}

/** Names with commas or spaces between them. */
export function groupsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== "");
}

function ShownOnce({ created: { id, name, credential } }: { readonly created: CreatedInstance }) {
  // The button of the form is gone.
  useEffect(() => document.querySelector<HTMLElement>("#main h1")?.focus(), []);
  return (
    <Page title={t`Instance created`}>
      <p class="note">
        {t`The credential is displayed once. Copy it now.`}{" "}
        {t`If you lose it, rotate the credential on the page of the instance.`}
      </p>
      <div class="panel">
        <h2>{rich`Connect ${<Text>{name}</Text>}`}</h2>
        <ConnectSnippets credential={credential} />
      </div>
      <div class="actions">
        <a class="button primary" href={href(`/instances/${id}`)}>
          {t`Done`}
        </a>
      </div>
    </Page>
  );
}
