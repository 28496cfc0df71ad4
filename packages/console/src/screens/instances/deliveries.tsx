/** How decisions reach the receiver of an instance: what waits, what failed, and trying again. */

import type { Delivery, Instance, Receiver } from "@countersign/review-api";
import { api } from "../../api.ts";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Fault } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { href } from "../../route.ts";
import { serverNow } from "../../time.ts";
import { HealthBadge } from "./health-badge.tsx";
import { ReceiverActions } from "./receiver.tsx";
import { attemptWords, countWords } from "./wire.ts";

const SHOWN = 50;
/** Of the project; those of this instance are picked out. */
const ENDED_LIMIT = 200;

interface Deliveries {
  readonly waiting: readonly Delivery[];
  readonly isMore: boolean;
  /** Given up, or lost with their receiver. */
  readonly failed: readonly Delivery[];
}

export interface DeliveryPanelProps {
  readonly instance: Instance;
  /** Called when the displayed instance has changed. */
  onChanged(): void;
}

export function DeliveryPanel({ instance, onChanged }: DeliveryPanelProps) {
  const { id, receiver } = instance;
  const { value, error, reload } = useLoaded((signal) => load(id, signal), id);
  const changed = () => {
    reload();
    onChanged();
  };
  const retryAll = async () => {
    await api.call("POST /deliveries/retry", { body: { instance_id: id } });
    changed();
  };
  const waiting = value?.waiting ?? [];
  return (
    <section class="panel" aria-labelledby="deliveries-heading">
      <header class="panel-head">
        <h2 id="deliveries-heading">{t`Deliveries`}</h2>
        <HealthBadge receiver={receiver} />
        {receiver !== null && (
          <Button kind="quiet" onPress={changed}>
            <Icon name="refresh" /> {t`Refresh`}
          </Button>
        )}
      </header>
      {receiver === null ? (
        <p class="hint">{t`No webhook. This agent polls for decisions.`}</p>
      ) : (
        <ReceiverWords receiver={receiver} />
      )}
      {may("people") && <ReceiverActions instance={instance} onChanged={changed} />}
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {waiting.length > 0 && (
        <>
          <Table
            caption={t`Pending deliveries`}
            columns={waitingColumns(changed)}
            items={waiting}
            keyOf={(delivery) => delivery.id}
          />
          {may("decide") && waiting.length > 1 && (
            <div class="actions">
              <Button onPress={retryAll}>{t`Retry all now`}</Button>
            </div>
          )}
          {value?.isMore && <p class="hint">{t`Only the first ${SHOWN} are shown.`}</p>}
        </>
      )}
      {(value?.failed.length ?? 0) > 0 && (
        <>
          <h3>{t`Not delivered`}</h3>
          <Table
            caption={t`Failed deliveries`}
            columns={FAILED_COLUMNS}
            items={value?.failed ?? []}
            keyOf={(delivery) => delivery.id}
          />
          <p class="hint">{t`Among the last ${ENDED_LIMIT} of this project that have ended.`}</p>
        </>
      )}
    </section>
  );
}

function ReceiverWords({ receiver }: { readonly receiver: Receiver }) {
  const { origin, verified_at: verifiedAt, waiting, last_attempt: last } = receiver;
  return (
    <p class="hint">
      {rich`Decisions go to ${<code>{origin}</code>}, verified ${<When at={verifiedAt} />}.`}{" "}
      {waiting === 0 ? t`No pending deliveries.` : t`${countWords(waiting)} waiting.`}
      {last !== undefined && last.outcome !== "acknowledged" && (
        <> {rich`The last attempt, ${<When at={last.at} />}: ${attemptWords(last)}.`}</>
      )}
    </p>
  );
}

async function load(instanceId: string, signal: AbortSignal): Promise<Deliveries> {
  const isOwn = ({ instance }: Delivery) => instance.id === instanceId;
  const [waiting, ended] = await Promise.all([
    api.call("GET /deliveries", {
      query: { state: "waiting", limit: String(SHOWN), instance_id: instanceId },
      signal,
    }),
    api.call("GET /deliveries", {
      query: { state: "ended", limit: String(ENDED_LIMIT) },
      signal,
    }),
  ]);
  return {
    waiting: waiting.deliveries,
    isMore: waiting.next !== null,
    failed: ended.deliveries.filter((one) => isOwn(one) && one.ended_by !== "acknowledged"),
  };
}

const REQUEST: Column<Delivery> = {
  title: t`Decision of`,
  isHead: true,
  cell: ({ request_id: id }) => <a href={href(`/inbox/${id}`)}>{t`request …${id.slice(-6)}`}</a>,
};

const ATTEMPTS: Column<Delivery> = { title: t`Attempts`, cell: ({ attempts }) => attempts };

const LAST: Column<Delivery> = {
  title: t`Last attempt`,
  cell: ({ last_attempt: last }) =>
    last === undefined ? (
      t`none yet`
    ) : (
      <>
        {attemptWords(last)}, <When at={last.at} />
      </>
    ),
};

function waitingColumns(onRetried: () => void): Column<Delivery>[] {
  const retry: Column<Delivery> = {
    title: t`Actions`,
    isActions: true,
    cell: ({ id, status }) => (
      <Button
        disabled={status === "in_flight"}
        onPress={async () => {
          await api.call("POST /deliveries/{id}/retry", { path: { id } });
          onRetried();
        }}
      >
        {t`Retry now`}
      </Button>
    ),
  };
  const next: Column<Delivery> = {
    title: t`Next attempt`,
    cell: ({ status, next_attempt_at: at }) => {
      if (status === "in_flight") return t`in progress`;
      if (at === undefined) return "–";
      return Date.parse(at) <= serverNow() ? t`due` : <When at={at} />;
    },
  };
  return [REQUEST, ATTEMPTS, LAST, next, ...(may("decide") ? [retry] : [])];
}

const ENDS: Readonly<Record<string, string>> = {
  window: t`failed after 168 h of retries`,
  removal: t`its receiver was removed`,
  deletion: t`its instance was deleted`,
};

const FAILED_COLUMNS: Column<Delivery>[] = [
  REQUEST,
  ATTEMPTS,
  LAST,
  {
    title: t`Ended`,
    cell: ({ ended_by: by = "", ended_at: at }) => (
      <>
        {ENDS[by] ?? by}
        {at !== undefined && (
          <>
            , <When at={at} />
          </>
        )}
      </>
    ),
  },
];
