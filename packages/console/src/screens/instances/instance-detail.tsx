import type { Freeze, Instance, ProposedChange } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FactList, type Facts } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Fault, type FaultProps } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { go, href } from "../../route.ts";
import { DeleteDialog, GroupDialog } from "./change-instance.tsx";
import { DeliveryPanel } from "./deliveries.tsx";
import { FreezeBanner, FreezeButton, mayFreeze, useFreezes } from "./freezes.tsx";
import { GrantPanel } from "./grants.tsx";
import { countWords } from "./wire.ts";

/** One instance: what is known of it, what reaches its receiver, and what holds for its calls. */
export function InstanceDetail({ id }: { readonly id: string }) {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /instances/{id}", { path: { id }, signal }),
    id,
  );
  const freezes = useFreezes();
  const [openDialog, setOpenDialog] = useState<"delete" | "group">();
  if (error instanceof Refusal && (error.status === 404 || error.status === 400)) {
    return <NoInstance />;
  }
  if (value === undefined) return <NotYet error={error} onRetry={reload} />;
  const activeFreezes = (freezes.value ?? []).filter(
    ({ scope, instance }) => scope !== "instance" || instance?.id === id,
  );
  const changed = () => {
    reload();
    freezes.reload();
  };
  const close = () => setOpenDialog(undefined);
  return (
    <Page
      title={value.name}
      actions={
        <InstanceActions
          id={id}
          activeFreezes={activeFreezes}
          onFrozen={changed}
          onDelete={() => setOpenDialog("delete")}
        />
      }
    >
      <p>
        <a class="back-link" href={href("/instances")}>
          <Icon name="back" /> All instances
        </a>
      </p>
      {freezes.error !== undefined && <Fault error={freezes.error} onRetry={freezes.reload} />}
      {activeFreezes.map((freeze) => (
        <FreezeBanner key={freeze.id} freeze={freeze} onLifted={changed} />
      ))}
      <InstanceFacts instance={value} onGroup={() => setOpenDialog("group")} />
      <DeliveryPanel instance={value} onChanged={reload} />
      <GrantPanel instanceId={id} />
      {openDialog === "delete" && (
        <DeleteDialog
          instance={value}
          onClose={close}
          onDone={() => go("/instances", { replace: true })}
        />
      )}
      {openDialog === "group" && (
        <GroupDialog
          instance={value}
          onClose={close}
          onDone={() => {
            close();
            reload();
          }}
        />
      )}
    </Page>
  );
}

interface InstanceActionsProps {
  readonly id: string;
  readonly activeFreezes: readonly Freeze[];
  onFrozen(): void;
  onDelete(): void;
}

function InstanceActions({ id, activeFreezes, onFrozen, onDelete }: InstanceActionsProps) {
  const isFrozen = activeFreezes.some(({ scope }) => scope === "instance");
  return (
    <>
      {mayFreeze("instance") && !isFrozen && (
        <FreezeButton scope="instance" instanceId={id} onFrozen={onFrozen}>
          Freeze
        </FreezeButton>
      )}
      {may("people") && (
        <Button kind="danger" onPress={onDelete}>
          Delete
        </Button>
      )}
    </>
  );
}

function NotYet({ error, onRetry }: FaultProps) {
  return (
    <Page title="Instance">
      {error === undefined ? (
        <p class="hint">Loading…</p>
      ) : (
        <Fault error={error} {...(onRetry !== undefined && { onRetry })} />
      )}
    </Page>
  );
}

interface InstanceFactsProps {
  readonly instance: Instance;
  /** Groups and owner shall be changed. */
  onGroup(): void;
}

function InstanceFacts({ instance, onGroup }: InstanceFactsProps) {
  const { id, groups, owner, created_at: createdAt, pending, last_request_at: lastAt } = instance;
  return (
    <section class="panel" aria-label="Details">
      <FactList
        facts={[
          [
            "Id",
            <span key="id" class="with-copy">
              <code>{id}</code> <CopyButton text={id} what="id" isSmall />
            </span>,
          ],
          ["Owner", owner === null ? "none" : <Text key="owner">{owner}</Text>],
          ["Groups", groups.length === 0 ? "none" : groups.join(", ")],
          ...proposalFacts(instance.proposed_change),
          ["Pending", countWords(pending)],
          ["Last request", lastAt === null ? "never" : <When key="at" at={lastAt} />],
          ["Created", <When key="created" at={createdAt} exact />],
        ]}
      />
      <div class="actions">
        {may("publish") && <Button onPress={onGroup}>Change groups and owner</Button>}
        <a class="button" href={href(`/history?instance=${id}`)}>
          View history
        </a>
      </div>
    </section>
  );
}

/** Rows of a fact list: none without a proposal. */
function proposalFacts(proposal: ProposedChange | undefined): Facts {
  if (proposal === undefined) return [];
  const { groups, owner, proposer, proposed_at: at } = proposal;
  return [
    [
      "Proposed",
      <span key="proposed">
        groups: {groups.length === 0 ? "none" : groups.join(", ")}; owner:{" "}
        {owner === null ? "none" : <Text>{owner}</Text>}; by{" "}
        {proposer === null ? "a removed reviewer" : <Text>{proposer}</Text>}, <When at={at} />. A
        second person must confirm it.
      </span>,
    ],
  ];
}

function NoInstance() {
  return (
    <Page title="Instance">
      <Empty title="Instance not found">
        <p>It was deleted or belongs to another project.</p>
        <p>
          <a href={href("/instances")}>All instances</a>
        </p>
      </Empty>
    </Page>
  );
}
