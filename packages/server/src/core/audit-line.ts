/**
 * What of an audit entry is sealed: one line of JSON. The same bytes are a leaf of the log, part of
 * an export and part of a proof, so a check needs nothing but the bytes.
 *
 * @see docs/reference/audit-log.md
 */

/** An entry as its row has it. */
export interface StoredEntry {
  readonly projectId: string;
  readonly id: string;
  /** Epoch ms of the transition. */
  readonly at: number;
  readonly kind: string;
  /** `kind:id` */
  readonly actor: string;
  /** `kind:id` */
  readonly subject: string;
  /** JSON text of an object. */
  readonly detail: string;
  /** Of the row, and not sealed; null in one from before rows had MACs. */
  readonly mac?: string | null;
}

/** The bytes of a leaf, as text. The detail stands in it as it is stored, so numbers stay exact. */
export function writeEntry({
  projectId,
  id,
  at,
  kind,
  actor,
  subject,
  detail,
}: StoredEntry): string {
  const text = JSON.stringify;
  return (
    `{"project_id":${text(projectId)},"id":${text(id)},"at":${text(at)},"kind":${text(kind)},` +
    `"actor":${text(actor)},"subject":${text(subject)},"detail":${detail}}`
  );
}

/** An entry where it stands in its log: a line of an export. */
export function writeExportLine(position: number, entry: string): string {
  return `{"position":${position},"entry":${entry}}`;
}

const PLACED = /^\{"position":(0|[1-9]\d{0,15}),"entry":(\{.*\})\}$/s;

/** @returns undefined when the text is no such line; the entry in it may yet be anything */
export function parseExportLine(
  line: string,
): { readonly position: number; readonly entry: string } | undefined {
  const [, position, entry = ""] = PLACED.exec(line) ?? [];
  return position === undefined ? undefined : { position: Number(position), entry };
}

/** The members of an entry that people and checks read. */
export interface EntryContent {
  readonly id: string;
  readonly at: number;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** @returns undefined when the text is no entry */
export function readEntry(text: string): EntryContent | undefined {
  try {
    const { id, at, kind, actor, subject, detail } = JSON.parse(text);
    const isNamed = [id, kind, actor, subject].every((value) => typeof value === "string");
    const isObject = typeof detail === "object" && detail !== null && !Array.isArray(detail);
    if (!isNamed || typeof at !== "number" || !isObject) return undefined;
    return { id, at, kind, actor, subject, detail };
  } catch {
    return undefined;
  }
}
