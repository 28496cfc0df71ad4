/** Tokens of reviewers, bots and provisioners: created, displayed once, revoked. */

import type { ReviewerRole, Token } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Choice, Field, Form, wordsOf } from "../../parts/form.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { Table } from "../../parts/table.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { ROLES } from "./people.tsx";

export function TokenSettings() {
  if (!may("people")) {
    return <Empty title="Tokens are for admins">Ask an admin of the project for one.</Empty>;
  }
  return <Tokens />;
}

function Tokens() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /tokens", { signal }),
    "tokens",
  );
  return (
    <>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <NewToken onMade={reload} />
      <section class="panel" aria-labelledby="tokens-title">
        <h2 id="tokens-title">Tokens</h2>
        <Table
          caption="Active tokens"
          items={value?.tokens ?? []}
          keyOf={({ id }) => id}
          columns={[
            { title: "Holder", isHead: true, cell: ({ holder }) => <Text>{holder.name}</Text> },
            { title: "Kind", cell: ({ kind, holder }) => holder.kind ?? kind },
            { title: "Access", cell: (token) => mayOf(token) },
            { title: "Created", cell: ({ created_at }) => <When at={created_at} /> },
            {
              title: "Expires",
              cell: ({ expires_at }) => (expires_at === null ? "never" : <When at={expires_at} />),
            },
            {
              title: "Revoke",
              isActions: true,
              cell: ({ id, holder }) => (
                <Button
                  kind="quiet"
                  onPress={async () => {
                    await api.call("DELETE /tokens/{id}", { path: { id } });
                    reload();
                  }}
                >
                  Revoke <span class="spoken">the token of {holder.name}</span>
                </Button>
              ),
            },
          ]}
        />
      </section>
    </>
  );
}

function mayOf({ kind, scopes, holder }: Token): string {
  if (kind === "provisioner") return "provision instances";
  return scopes === null || scopes.length === 0
    ? `full access of the role ${holder.role}`
    : scopes.join(", ");
}

const SCOPES_HINT =
  "For example read, decide, decide:finance, freeze, policy, people, audit. " +
  "Leave empty for full access.";

function NewToken({ onMade }: { onMade(): void }) {
  const [token, setToken] = useState<string>();
  return (
    <section class="panel" aria-labelledby="new-token-title">
      <h2 id="new-token-title">New token</h2>
      <Form
        submit="Create a token"
        onSubmit={async (values) => {
          const scopes = wordsOf(values("scopes"));
          const name = values("name").trim();
          const ends = values("expires_in").trim();
          const body = {
            ...(name !== "" && { name, role: values("role") as ReviewerRole }),
            ...(scopes.length > 0 && { scopes }),
            ...(ends !== "" && { expires_in: ends }),
          };
          const made = await api.call("POST /tokens", { body });
          setToken(made.token);
          onMade();
        }}
      >
        <Field
          name="name"
          label="Bot name (optional)"
          maxLength={100}
          hint="Leave empty for a personal token. A new name creates a bot."
        />
        <Choice name="role" label="Role of a new bot" value="reviewer" options={ROLES} />
        <Field name="scopes" label="Scopes (optional)" hint={SCOPES_HINT} />
        <Field name="expires_in" label="Expires after (optional)" hint="For example 720h." />
      </Form>
      {token !== undefined && (
        <SecretOnce
          title="The token"
          what="token"
          secret={token}
          hint="Displayed once. Anyone who has this token has its permissions."
          onClose={() => setToken(undefined)}
        />
      )}
    </section>
  );
}
