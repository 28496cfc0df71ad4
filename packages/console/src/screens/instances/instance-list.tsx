import type { Freeze, Instance } from "@countersign/review-api";
import { useMemo, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ListHead } from "../../parts/list-head.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { When } from "../../parts/when.tsx";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";
import { FreezeBanner, FreezeButton, mayFreeze, useFreezes } from "./freezes.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { countWords } from "./wire.ts";

const PAGE_SIZE = "100";

/** All instances of the project, and what freezes more than one of them. */
export function InstanceList() {
  const [round, setRound] = useState(0);
  const { value: freezes = [], error, reload } = useFreezes();
  const pages = useKeptPages(`instances ${round}`, async (after, signal) => {
    const query = { limit: PAGE_SIZE, after };
    const { instances, next } = await api.call("GET /instances", { query, signal });
    return { items: instances, next };
  });
  const frozen = useMemo(() => new Set(freezes.map(({ instance }) => instance?.id)), [freezes]);
  const row = useMemo(
    () => (instance: Instance) => (
      <InstanceRow instance={instance} isFrozen={frozen.has(instance.id)} />
    ),
    [frozen],
  );
  const refresh = () => {
    setRound(round + 1);
    reload();
  };
  const wide = freezes.filter(({ scope }) => scope !== "instance");
  return (
    <Page
      title="Instances"
      lead="Each agent connects as an instance."
      actions={<ListActions wide={wide} onFrozen={reload} />}
    >
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {wide.map((freeze) => (
        <FreezeBanner key={freeze.id} freeze={freeze} onLifted={reload} />
      ))}
      <section class="panel list-panel" aria-label="Instances">
        <ListHead onRefresh={refresh}>Oldest first</ListHead>
        <WindowedList
          label="Instances"
          pages={pages}
          rowRem={{ wide: 4, narrow: 6.5 }}
          row={row}
          empty={<NoInstance />}
        />
      </section>
    </Page>
  );
}

interface ListActionsProps {
  /** Active freezes of more than one instance. */
  readonly wide: readonly Freeze[];
  onFrozen(): void;
}

function ListActions({ wide, onFrozen }: ListActionsProps) {
  const canFreeze = (scope: Freeze["scope"]) =>
    mayFreeze(scope) && !wide.some((freeze) => freeze.scope === scope);
  return (
    <>
      {canFreeze("server") && (
        <FreezeButton scope="server" onFrozen={onFrozen}>
          Freeze the server
        </FreezeButton>
      )}
      {canFreeze("project") && (
        <FreezeButton scope="project" onFrozen={onFrozen}>
          Freeze the project
        </FreezeButton>
      )}
      {may("people") && (
        <a class="button primary" href={href("/instances/new")}>
          <Icon name="plus" /> New instance
        </a>
      )}
    </>
  );
}

function NoInstance() {
  return (
    <Empty title="No instances yet">
      <p>An instance is the identity of one agent, with its own credential.</p>
      {may("people") ? (
        <p>
          <a href={href("/instances/new")}>Create an instance</a>
        </p>
      ) : (
        <p>An admin of this project can create one.</p>
      )}
    </Empty>
  );
}

interface InstanceRowProps {
  readonly instance: Instance;
  readonly isFrozen: boolean;
}

function InstanceRow({ instance, isFrozen }: InstanceRowProps) {
  const { id, name, groups, owner, pending, last_request_at: lastAt, receiver } = instance;
  return (
    <a class="list-row instance-row" href={href(`/instances/${id}`)}>
      <span class="instance-what">
        <bdi class="instance-name">
          <Text>{name}</Text>
        </bdi>
        <span class="instance-more">
          {owner !== null && (
            <>
              <Text>{owner}</Text>
              {groups.length > 0 && " · "}
            </>
          )}
          {groups.join(", ")}
          {owner === null && groups.length === 0 && "no owner, no groups"}
        </span>
      </span>
      <span class="instance-health">
        {isFrozen && (
          <span class="badge status frozen-badge">
            <Icon name="freeze" /> Frozen
          </span>
        )}
        <HealthBadge receiver={receiver} />
      </span>
      <span class="instance-pending">
        {pending === 0 ? (
          <span class="hint">0 pending</span>
        ) : (
          <strong>{countWords(pending)} pending</strong>
        )}
      </span>
      <span class="instance-seen">
        {lastAt === null ? "no requests yet" : <When at={lastAt} />}
      </span>
    </a>
  );
}
