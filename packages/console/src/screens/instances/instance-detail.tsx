import type { Freeze, Instance, ProposedChange } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
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
import { DeleteDialog, GroupDialog, RenameDialog } from "./change-instance.tsx";
import { DeliveryPanel } from "./deliveries.tsx";
import { FreezeBanner, FreezeButton, mayFreeze, useFreezes } from "./freezes.tsx";
import { GrantPanel } from "./grants.tsx";
import { RotateDialog } from "./rotate-credential.tsx";
import { countWords } from "./wire.ts";

/** One instance: what is known of it, what reaches its receiver, and what holds for its calls. */
export function InstanceDetail({ id }: { readonly id: string }) {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /instances/{id}", { path: { id }, signal }),
    id,
  );
  const freezes = useFreezes();
  const [openDialog, setOpenDialog] = useState<"delete" | "group" | "rename" | "rotate">();
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
          instance={value}
          activeFreezes={activeFreezes}
          onFrozen={changed}
          onDelete={() => setOpenDialog("delete")}
        />
      }
    >
      <p>
        <a class="back-link" href={href("/instances")}>
          <Icon name="back" /> {t`All instances`}
        </a>
      </p>
      {freezes.error !== undefined && <Fault error={freezes.error} onRetry={freezes.reload} />}
      {activeFreezes.map((freeze) => (
        <FreezeBanner key={freeze.id} freeze={freeze} onLifted={changed} />
      ))}
      <InstanceFacts
        instance={value}
        onGroup={() => setOpenDialog("group")}
        onRename={() => setOpenDialog("rename")}
        onRotate={() => setOpenDialog("rotate")}
      />
      <DeliveryPanel instance={value} onChanged={reload} />
      <GrantPanel instanceId={id} />
      {openDialog === "delete" && (
        <DeleteDialog
          instance={value}
          onClose={close}
          onDone={() => go("/instances", { replace: true })}
        />
      )}
      {openDialog === "rotate" && <RotateDialog instance={value} onClose={close} />}
      {openDialog === "rename" && (
        <RenameDialog
          instance={value}
          onClose={close}
          onDone={() => {
            close();
            reload();
          }}
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
  readonly instance: Instance;
  readonly activeFreezes: readonly Freeze[];
  onFrozen(): void;
  onDelete(): void;
}

function InstanceActions({ instance, activeFreezes, onFrozen, onDelete }: InstanceActionsProps) {
  const isFrozen = activeFreezes.some(({ scope }) => scope === "instance");
  return (
    <>
      {mayFreeze("instance") && !isFrozen && (
        <FreezeButton scope="instance" instance={instance} onFrozen={onFrozen}>
          {t`Freeze`}
        </FreezeButton>
      )}
      {may("people") && (
        <Button kind="danger" onPress={onDelete}>
          {t`Delete`}
        </Button>
      )}
    </>
  );
}

function NotYet({ error, onRetry }: FaultProps) {
  return (
    <Page title={t`Instance`}>
      {error === undefined ? (
        <p class="hint">{t`Loading…`}</p>
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
  onRename(): void;
  onRotate(): void;
}

function InstanceFacts({ instance, onGroup, onRename, onRotate }: InstanceFactsProps) {
  const { id, groups, owner, created_at: createdAt, pending, last_request_at: lastAt } = instance;
  return (
    <section class="panel" aria-label={t`Details`}>
      <FactList
        facts={[
          [
            t`Id`,
            <span key="id" class="with-copy">
              <code>{id}</code> <CopyButton text={id} what={t`id`} isSmall />
            </span>,
          ],
          [t`Owner`, owner === null ? t`none` : <Text key="owner">{owner}</Text>],
          [t`Groups`, groups.length === 0 ? t`none` : groups.join(", ")],
          ...workloadFacts(instance.workload),
          ...proposalFacts(instance.proposed_change),
          [t`Pending`, countWords(pending)],
          [t`Last request`, lastAt === null ? t`never` : <When key="at" at={lastAt} />],
          [t`Created`, <When key="created" at={createdAt} exact />],
        ]}
      />
      <div class="actions">
        {may("people") && (
          <>
            <Button onPress={onRename}>{t`Rename`}</Button>
            <Button onPress={onRotate}>{t`Rotate credential`}</Button>
          </>
        )}
        {may("publish") && <Button onPress={onGroup}>{t`Change groups and owner`}</Button>}
        <a class="button" href={href(`/history?instance=${id}`)}>
          {t`View history`}
        </a>
      </div>
    </section>
  );
}

/** Rows of a fact list: none for an instance with a stored credential. */
function workloadFacts(workload: Instance["workload"]): Facts {
  if (workload === undefined) return [];
  const { rule, issuer, claims } = workload;
  const words = [rule, issuer, ...claims].join(", ");
  return [[t`Workload identity`, <Text key="workload">{words}</Text>]];
}

/** Rows of a fact list: none without a proposal. */
function proposalFacts(proposal: ProposedChange | undefined): Facts {
  if (proposal === undefined) return [];
  const groups = proposal.groups.length === 0 ? t`none` : proposal.groups.join(", ");
  const owner = proposal.owner === null ? t`none` : <Text>{proposal.owner}</Text>;
  const { proposer } = proposal;
  const by = proposer === null ? t`a removed reviewer` : <Text>{proposer}</Text>;
  const at = <When at={proposal.proposed_at} />;
  return [
    [
      t`Proposed`,
      <span key="proposed">
        {rich`groups: ${groups}; owner: ${owner}; by ${by}, ${at}.`}{" "}
        {t`A second person must confirm it.`}
      </span>,
    ],
  ];
}

function NoInstance() {
  return (
    <Page title={t`Instance`}>
      <Empty title={t`Instance not found`}>
        <p>{t`It was deleted or belongs to another project.`}</p>
        <p>
          <a href={href("/instances")}>{t`All instances`}</a>
        </p>
      </Empty>
    </Page>
  );
}
