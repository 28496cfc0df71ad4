/** The checkpoint for a third party, with which a rewritten log is detected. */

import { api, Refusal } from "../../api.ts";
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
        <h2 id="checkpoint-heading">Prove it to a third party</h2>
        <Button kind="quiet" onPress={reload}>
          <Icon name="refresh" /> Refresh
        </Button>
      </header>
      {value === undefined && <Missing error={error} onRetry={reload} />}
      {value !== undefined && (
        <>
          <p class="hint">
            {value.size.toLocaleString("en-GB")} entries are sealed, the last{" "}
            <When at={value.sealed_at} />. A third party who keeps this checkpoint and the key can
            detect changes of earlier entries.
          </p>
          <div class="actions">
            <Button onPress={() => saveText("checkpoint.txt", value.checkpoint)}>
              <Icon name="download" /> Checkpoint
            </Button>
            <Button onPress={() => saveText("log.key", `${value.public_key.trimEnd()}\n`)}>
              <Icon name="download" /> Public key
            </Button>
          </div>
          <details>
            <summary>How to use the checkpoint</summary>
            <div class="checkpoint-more">
              <Snippet title="Checkpoint" text={value.checkpoint} />
              <Snippet title="Public key" text={value.public_key} />
              <Snippet title="Verify an export without the database" text={COMMANDS} />
              <p class="hint">
                The steps are in <code>docs/guides/prove-a-decision.md</code>, the format in{" "}
                <code>docs/reference/audit-log.md</code>. The proof of one entry is under the entry.
              </p>
            </div>
          </details>
        </>
      )}
    </section>
  );
}

interface MissingProps {
  readonly error: Error | undefined;
  onRetry(): void;
}

function Missing({ error, onRetry }: MissingProps) {
  if (error === undefined) return <p class="hint">Loading…</p>;
  const isUnsealed = error instanceof Refusal && error.status === 404;
  if (!isUnsealed) return <Fault error={error} onRetry={onRetry} />;
  return <p class="hint">No entry is sealed yet. Sealing takes seconds.</p>;
}
