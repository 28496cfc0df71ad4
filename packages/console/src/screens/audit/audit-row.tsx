import { Text } from "../../exact/text.tsx";
import { When } from "../../parts/when.tsx";
import type { AuditEntry } from "./audit-entry.ts";
import { describeReference, type Names, wordsOf } from "./audit-words.ts";

export interface AuditRowProps {
  readonly entry: AuditEntry;
  readonly names: Names;
  onOpen(entry: AuditEntry): void;
}

/** One line of the log in words; pressing it shows the entry as it is. */
export function AuditRow({ entry, names, onOpen }: AuditRowProps) {
  return (
    <button type="button" class="list-row audit-row" onClick={() => onOpen(entry)}>
      <span class="audit-what">{wordsOf(entry)}</span>
      <span class="audit-who">
        by{" "}
        <bdi>
          <Text>{describeReference(entry.actor, names)}</Text>
        </bdi>
      </span>
      <span class="audit-about">
        <bdi>
          <Text>{describeReference(entry.subject, names)}</Text>
        </bdi>
      </span>
      <span class="audit-at">
        <When at={entry.at} />
      </span>
    </button>
  );
}
