/**
 * The sealed form of an audit entry: one line of JSON. The same bytes are a leaf of the log, part
 * of an export and part of a proof, so a check needs only these bytes.
 *
 * @see docs/reference/audit-log.md
 */

/** An entry as stored in its row. */
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
  /** Stored in the row and not sealed; null in rows from before MACs. */
  readonly mac?: string | null;
}

/** The text of a leaf. The detail is copied verbatim, so numbers stay exact. */
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

/** A line of an export: an entry with its position. */
export function writeExportLine(position: number, entry: string): string {
  return `{"position":${position},"entry":${entry}}`;
}

const PLACED = /^\{"position":(0|[1-9]\d{0,15}),"entry":(\{.*\})\}$/s;

/** @returns undefined when the text is not such a line; the entry in it is not validated */
export function parseExportLine(
  line: string,
): { readonly position: number; readonly entry: string } | undefined {
  const [, position, entry = ""] = PLACED.exec(line) ?? [];
  return position === undefined ? undefined : { position: Number(position), entry };
}

/** The fields of an entry that people and checks read. */
export interface EntryContent {
  readonly id: string;
  readonly at: number;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** @returns undefined when the text is not an entry */
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
