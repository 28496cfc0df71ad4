import type { Freeze, Instance } from "@countersign/review-api";
import { useMemo, useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { ChoiceFilter, FilterBar, TextFilter } from "../../parts/filter-bar.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ListHead } from "../../parts/list-head.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { When } from "../../parts/when.tsx";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { may } from "../../powers.ts";
import { href, route } from "../../route.ts";
import { findInstances, ORDERS, SEARCHED_MAX } from "./find-instances.ts";
import { FreezeBanner, FreezeButton, mayFreeze, useFreezes } from "./freezes.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { countWords } from "./wire.ts";

/** All instances of the project, and what freezes more than one of them. */
export function InstanceList() {
  const [round, setRound] = useState(0);
  const { value: freezes = [], error, reload } = useFreezes();
  const { query } = route.value;
  const filter = { search: query.get("q") ?? "", order: query.get("order") ?? "" };
  const pages = useKeptPages(`instances ${round} ${JSON.stringify(filter)}`, (after, signal) =>
    findInstances(filter, after, signal),
  );
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
      title={t`Instances`}
      lead={t`Each agent connects as an instance.`}
      actions={<ListActions wide={wide} onFrozen={reload} />}
    >
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {wide.map((freeze) => (
        <FreezeBanner key={freeze.id} freeze={freeze} onLifted={reload} />
      ))}
      <section class="panel list-panel" aria-label={t`Instances`}>
        <FilterBar label={t`Search the instances`} names={["q", "order"]}>
          <TextFilter label={t`Search`} name="q" placeholder={t`Name, group or owner`} />
          <ChoiceFilter label={t`Order`} name="order" all={t`Oldest first`} choices={ORDERS} />
        </FilterBar>
        <ListHead onRefresh={refresh}>
          {filter.search === "" && filter.order === ""
            ? t`All instances`
            : t`Searches the first ${SEARCHED_MAX} instances`}
        </ListHead>
        <WindowedList
          label={t`Instances`}
          pages={pages}
          rowRem={{ wide: 4, narrow: 6.5 }}
          row={row}
          empty={
            filter.search === "" ? (
              <NoInstance />
            ) : (
              <Empty title={t`No instance matches the search`} />
            )
          }
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
      {may("people") && (
        <a class="button primary" href={href("/instances/new")}>
          <Icon name="plus" /> {t`New instance`}
        </a>
      )}
      {canFreeze("project") && (
        <FreezeButton scope="project" onFrozen={onFrozen}>
          {t`Freeze the project`}
        </FreezeButton>
      )}
      {canFreeze("server") && (
        <FreezeButton scope="server" onFrozen={onFrozen}>
          {t`Freeze the server`}
        </FreezeButton>
      )}
    </>
  );
}

function NoInstance() {
  return (
    <Empty title={t`No instances yet`}>
      <p>{t`An instance is the identity of one agent, with its own credential.`}</p>
      {may("people") ? (
        <p>
          <a href={href("/instances/new")}>{t`Create an instance`}</a>
        </p>
      ) : (
        <p>{t`An admin of this project can create one.`}</p>
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
  const pendingWords = t`${countWords(pending)} pending`;
  return (
    <a class="list-row instance-row" href={href(`/instances/${id}`)}>
      <span class="instance-what">
        <bdi class="instance-name">
          <Text>{name}</Text>
        </bdi>
        <span class="instance-more">
          {instance.workload !== undefined && `${t`workload identity`} · `}
          {owner !== null && (
            <>
              <Text>{owner}</Text>
              {groups.length > 0 && " · "}
            </>
          )}
          {groups.join(", ")}
          {owner === null && groups.length === 0 && t`no owner, no groups`}
        </span>
      </span>
      <span class="instance-health">
        {isFrozen && (
          <span class="badge status frozen-badge">
            <Icon name="freeze" /> {t`Frozen`}
          </span>
        )}
        <HealthBadge receiver={receiver} />
      </span>
      <span class="instance-pending">
        {pending === 0 ? <span class="hint">{pendingWords}</span> : <strong>{pendingWords}</strong>}
      </span>
      <span class="instance-seen">
        {lastAt === null ? t`no requests yet` : <When at={lastAt} />}
      </span>
    </a>
  );
}
