import { exactText } from "@countersign/review-api/exact";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { FactList } from "../../parts/facts.tsx";
import { saveText } from "../../parts/save-text.ts";
import { When } from "../../parts/when.tsx";
import { href } from "../../route.ts";
import type { AuditEntry, LogName } from "./audit-entry.ts";
import { describeReference, type Names, pathOfReference, wordsOf } from "./audit-words.ts";

export interface EntryDialogProps {
  readonly entry: AuditEntry;
  readonly names: Names;
  /** The log that the entry is in. */
  readonly log: LogName;
  onClose(): void;
}

/** An entry as it is: every member, and the exact text that is sealed. */
export function EntryDialog({ entry, names, log, onClose }: EntryDialogProps) {
  const takeProof = async () => {
    const { id } = entry;
    const proof = await api.call("GET /audit/entries/{id}/proof", { path: { id }, query: { log } });
    saveText(`proof-${id}.json`, `${exactText(proof)}\n`);
  };
  return (
    <Dialog
      title={wordsOf(entry)}
      onClose={onClose}
      isWide
      actions={
        <>
          <CopyButton text={entry.source} what={t`entry`} />
          <Button onPress={takeProof}>{t`Download proof`}</Button>
        </>
      }
    >
      <FactList
        facts={[
          [t`When`, <When key="at" at={entry.at} exact />],
          [t`Who`, <Reference key="who" reference={entry.actor} names={names} />],
          [t`About`, <Reference key="about" reference={entry.subject} names={names} />],
          [t`Kind`, <code key="kind">{entry.kind}</code>],
          [t`Entry`, <code key="id">{entry.id}</code>],
        ]}
      />
      <section>
        <h3 class="entry-heading">{t`Detail`}</h3>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard. */}
        <pre class="entry-detail" tabIndex={0}>
          <Text>{entry.detailSource}</Text>
        </pre>
        <p class="hint">
          {t`The exact text that was sealed. Digests are SHA-256 of the stored text.`}
        </p>
      </section>
    </Dialog>
  );
}

function Reference({ reference, names }: { readonly reference: string; readonly names: Names }) {
  const path = pathOfReference(reference);
  const words = describeReference(reference, names);
  return (
    <>
      {path === undefined ? (
        <Text>{words}</Text>
      ) : (
        <a href={href(path)}>
          <Text>{words}</Text>
        </a>
      )}{" "}
      <code class="hint">
        <Text>{reference}</Text>
      </code>
    </>
  );
}
