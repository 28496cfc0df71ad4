/** Tokens of reviewers, bots and provisioners: created, displayed once, revoked. */

import type { Token } from "@countersign/review-api";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { roleName } from "../../role-names.ts";
import { NewToken } from "./new-token.tsx";

export function TokenSettings() {
  if (!may("people")) {
    return (
      <Empty title={t`Tokens are for admins`}>{t`Ask an admin of the project for one.`}</Empty>
    );
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
        <h2 id="tokens-title">{t`Tokens`}</h2>
        <Table
          caption={t`Active tokens`}
          items={value?.tokens ?? []}
          keyOf={({ id }) => id}
          columns={[
            { title: t`Holder`, isHead: true, cell: ({ holder }) => <Text>{holder.name}</Text> },
            { title: t`Kind`, cell: ({ kind, holder }) => KIND_LABELS[holder.kind ?? kind] },
            { title: t`Access`, cell: (token) => mayOf(token) },
            { title: t`Created`, cell: ({ created_at }) => <When at={created_at} /> },
            {
              title: t`Expires`,
              cell: ({ expires_at }) => (expires_at === null ? t`never` : <When at={expires_at} />),
            },
            {
              title: t`Revoke`,
              isActions: true,
              cell: ({ id, holder }) => (
                <ConfirmButton
                  title={t`Revoke the token of ${holder.name}?`}
                  consequence={t`Programs that use it lose access immediately.`}
                  action={t`Revoke token`}
                  done={t`Revoked the token of ${holder.name}.`}
                  onConfirm={async () => {
                    await api.call("DELETE /tokens/{id}", { path: { id } });
                    reload();
                  }}
                >
                  {t`Revoke`} <span class="spoken">{t`the token of ${holder.name}`}</span>
                </ConfirmButton>
              ),
            },
          ]}
        />
      </section>
    </>
  );
}

const KIND_LABELS: Readonly<Record<Token["kind"] | "person" | "bot", string>> = {
  reviewer: t`reviewer`,
  provisioner: t`provisioner`,
  person: t`person`,
  bot: t`bot`,
};

/** Scopes have the same names in all languages. */
function mayOf({ kind, scopes, holder }: Token): string {
  if (kind === "provisioner") return t`provision instances`;
  return scopes === null || scopes.length === 0
    ? t`full access of the role ${roleName(holder.role ?? "")}`
    : scopes.join(", ");
}
