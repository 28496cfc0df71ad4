/** The checkpoint for a third party, with which a rewritten log is detected. */

import { api, Refusal } from "../../api.ts";
import { formatNumber, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Fault } from "../../parts/notice.tsx";
import { saveText } from "../../parts/save-text.ts";
import { Snippet } from "../../parts/snippet.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import type { LogName } from "./audit-entry.ts";

const COMMANDS = `countersign audit export --data data --out log.jsonl
countersign audit verify --file log.jsonl --public-key log.key --checkpoint checkpoint.txt`;

export function Checkpoint({ log }: { readonly log: LogName }) {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /audit/checkpoint", { query: { log }, signal }),
    log,
  );
  return (
    <section class="panel" aria-labelledby="checkpoint-heading">
      <header class="panel-head">
        <h2 id="checkpoint-heading">{t`Prove it to a third party`}</h2>
        <Button kind="quiet" onPress={reload}>
          <Icon name="refresh" /> {t`Refresh`}
        </Button>
      </header>
      {value === undefined && <Missing error={error} onRetry={reload} />}
      {value !== undefined && (
        <>
          <p class="hint">
            <SealedWords size={value.size} at={value.sealed_at} />{" "}
            {t`A third party who keeps this checkpoint and the key can detect changes of \
earlier entries.`}
          </p>
          {value.pruned > 0 && (
            <p class="hint">
              {t`The first ${formatNumber(value.pruned)} entries are in an archive, and not \
listed here.`}
            </p>
          )}
          <div class="actions">
            <Button onPress={() => saveText("checkpoint.txt", value.checkpoint)}>
              <Icon name="download" /> {t`Checkpoint`}
            </Button>
            <Button onPress={() => saveText("log.key", `${value.public_key.trimEnd()}\n`)}>
              <Icon name="download" /> {t`Public key`}
            </Button>
          </div>
          <details>
            <summary>{t`How to use the checkpoint`}</summary>
            <div class="checkpoint-more">
              <Snippet title={t`Checkpoint`} text={value.checkpoint} />
              <Snippet title={t`Public key`} text={value.public_key} />
              <Snippet title={t`Verify an export without the database`} text={COMMANDS} />
              <p class="hint">
                {rich`The steps are in ${<code>docs/guides/prove-a-decision.md</code>}, the format \
in ${<code>docs/reference/audit-log.md</code>}.`}{" "}
                {t`The proof of one entry is under the entry.`}
              </p>
            </div>
          </details>
        </>
      )}
    </section>
  );
}

interface SealedWordsProps {
  readonly size: number;
  readonly at: string;
}

function SealedWords({ size, at }: SealedWordsProps) {
  return <>{rich`${formatNumber(size)} entries are sealed, the last ${<When at={at} />}.`}</>;
}

interface MissingProps {
  readonly error: Error | undefined;
  onRetry(): void;
}

function Missing({ error, onRetry }: MissingProps) {
  if (error === undefined) return <p class="hint">{t`Loading…`}</p>;
  const isUnsealed = error instanceof Refusal && error.status === 404;
  if (!isUnsealed) return <Fault error={error} onRetry={onRetry} />;
  return <p class="hint">{t`No entry is sealed yet. Sealing takes seconds.`}</p>;
}
