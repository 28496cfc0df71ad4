/** Active grants for an instance: what is approved without asking, and taking that back. */

import type { Grant } from "@countersign/review-api";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Fault } from "../../parts/notice.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { session } from "../../session.ts";

/** An instance has at most so many active ones. */
const SHOWN = "100";

export function GrantPanel({ instanceId }: { readonly instanceId: string }) {
  const { value, error, reload } = useLoaded(async (signal) => {
    const query = { state: "active", limit: SHOWN, instance_id: instanceId } as const;
    return (await api.call("GET /grants", { query, signal })).grants;
  }, instanceId);
  return (
    <section class="panel" aria-labelledby="grants-heading">
      <h2 id="grants-heading">{t`Active grants`}</h2>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {value?.length === 0 && (
        <p class="hint">{t`No active grants. Policy and reviewers decide all calls.`}</p>
      )}
      {value !== undefined && value.length > 0 && (
        <Table
          caption={t`Active grants`}
          columns={columns(reload)}
          items={value}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  );
}

function mayRevoke({ reviewer }: Grant): boolean {
  return may("freeze") || may("publish") || reviewer.id === session.value?.project?.reviewer.id;
}

function columns(onRevoked: () => void): Column<Grant>[] {
  return [
    {
      title: t`Calls of`,
      isHead: true,
      cell: ({ tool, server, any_server: isAny, when, session: only, turn }) => (
        <>
          <Text>{tool}</Text> <OnServer server={server} />
          {isAny === true && <span class="faint">{t`on any server`}</span>}
          {when !== undefined && (
            <code class="grant-when">
              <Text>{when}</Text>
            </code>
          )}
          {only !== undefined && (
            <span class="hint grant-when">{rich`in session ${<Text>{only}</Text>}`}</span>
          )}
          {turn !== undefined && (
            <span class="hint grant-when">{rich`in turn ${<Text>{turn}</Text>}`}</span>
          )}
        </>
      ),
    },
    {
      title: t`By`,
      cell: ({ reviewer }) => <Text>{reviewer.name}</Text>,
    },
    { title: t`Used`, cell: ({ calls, calls_max: max }) => t`${calls} of ${max}` },
    { title: t`Expires`, cell: ({ expires_at: at }) => <When at={at} /> },
    {
      title: t`Actions`,
      isActions: true,
      cell: (grant) =>
        mayRevoke(grant) && (
          <ConfirmButton
            title={t`Revoke the grant for ${grant.tool}?`}
            consequence={t`Policy and reviewers decide later calls. Approved calls stay approved.`}
            action={t`Revoke grant`}
            done={t`Revoked the grant for ${grant.tool}.`}
            onConfirm={async () => {
              await api.call("POST /grants/{id}/revoke", { path: { id: grant.id } });
              onRevoked();
            }}
          >
            {t`Revoke`}
          </ConfirmButton>
        ),
    },
  ];
}
