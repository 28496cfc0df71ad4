import { Text } from "../../exact/text.tsx";
import { rich } from "../../language/t.ts";
import { When } from "../../parts/when.tsx";
import type { AuditEntry } from "./audit-entry.ts";
import { bySystem, describeReference, type Names, wordsOf } from "./audit-words.ts";

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
        {bySystem(entry.actor) ?? rich`by ${<Name reference={entry.actor} names={names} />}`}
      </span>
      <span class="audit-about">
        <Name reference={entry.subject} names={names} />
      </span>
      <span class="audit-at">
        <When at={entry.at} />
      </span>
    </button>
  );
}

function Name({ reference, names }: { readonly reference: string; readonly names: Names }) {
  return (
    <bdi>
      <Text>{describeReference(reference, names)}</Text>
    </bdi>
  );
}
