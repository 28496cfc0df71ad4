/**
 * Verifies an export or proof with only the public key of the log: no database and no secret.
 * Memory holds one line.
 */

import { type EntryContent, parseExportLine, readEntry } from "../core/audit-line.ts";
import { areEqual, Frontier, type Hash, hashLeaf, isIncluded } from "../core/merkle.ts";
import { type Checkpoint, isSignedBy, readCheckpoint, type Verifier } from "../core/signed-note.ts";
import { findEntryFault, NOT_AN_ENTRY } from "./entry-checks.ts";
import { type Finding, FindingError, found } from "./finding.ts";

export interface VerifyExportOptions {
  readonly verifier: Verifier;
  /** An external checkpoint. */
  readonly older?: Checkpoint | undefined;
  /** Called at intervals with the number of verified entries. */
  readonly onProgress?: ((entries: number) => void) | undefined;
  /** Called with each entry and its text, before its checkpoint is verified. */
  readonly onEntry?:
    | ((position: number, entry: EntryContent, text: string) => void | Promise<void>)
    | undefined;
}

export interface VerifiedExport {
  readonly origin: string;
  /** Position of its first entry. */
  readonly from: number;
  /** Size of the log at the last checkpoint. */
  readonly size: number;
  /** Hashes of the full subtrees before the first entry, and after the last one. */
  readonly edges: { readonly start: readonly Hash[]; readonly end: readonly Hash[] };
  readonly finding: Finding | undefined;
}

const ENTRIES_PER_PROGRESS = 10_000;

/** @param lines of an export, without line ends */
export async function verifyExport(
  lines: AsyncIterable<string>,
  options: VerifyExportOptions,
): Promise<VerifiedExport> {
  const run = new ExportVerification(options);
  const origin = options.verifier.name;
  try {
    for await (const line of lines) await run.read(line);
    run.end();
    return { origin, from: run.from, size: run.size, edges: run.edges, finding: undefined };
  } catch (error) {
    if (!(error instanceof FindingError)) throw error;
    const finding = { origin, ...error.finding };
    return { origin, from: run.from, size: run.size, edges: run.edges, finding };
  }
}

type PlacedText = NonNullable<ReturnType<typeof parseExportLine>>;

class ExportVerification {
  from = 0;
  readonly #options: VerifyExportOptions;
  #frontier: Frontier | undefined;
  #start: readonly Hash[] = [];
  /** Position of the last checkpoint. */
  #checked = 0;
  #hasCheckpoint = false;
  #lines = 0;

  constructor(options: VerifyExportOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#frontier?.size ?? 0;
  }

  get edges(): VerifiedExport["edges"] {
    return { start: this.#start, end: this.#frontier?.subtrees ?? [] };
  }

  async read(line: string): Promise<void> {
    this.#lines++;
    const placed = parseExportLine(line);
    if (this.#frontier === undefined) this.#begin(line);
    else if (placed !== undefined) await this.#append(this.#frontier, placed);
    else this.#compare(this.#frontier, line);
  }

  end(): void {
    if (!this.#hasCheckpoint || this.#checked !== this.size) {
      const message = "the end is missing: no checkpoint covers the last entries";
      throw found("missing", { position: this.#checked }, message);
    }
    const { older } = this.#options;
    if (older === undefined) return;
    if (older.size > this.size) {
      const message = `it has ${this.size} entries, and had ${older.size} at the given checkpoint`;
      throw found("truncated", {}, message);
    }
    if (older.size >= this.from) return;
    const message = `it starts at ${this.from}, after the given checkpoint: export earlier entries`;
    throw found("unreadable", {}, message);
  }

  #begin(line: string): void {
    const { log, from, subtrees } = parse(line);
    const hashes = Array.isArray(subtrees) ? subtrees.map(toHash) : [];
    if (typeof log !== "string" || typeof from !== "number") throw this.#unreadable();
    if (log !== this.#options.verifier.name) {
      throw found(
        "unreadable",
        {},
        `it belongs to the log ${log}, not to the log of the public key`,
      );
    }
    try {
      this.#frontier = new Frontier(from, hashes);
    } catch {
      throw this.#unreadable();
    }
    this.from = from;
    this.#start = hashes;
    this.#checked = from;
    this.#compareOlder(this.#frontier);
  }

  async #append(frontier: Frontier, { position, entry: text }: PlacedText): Promise<void> {
    const entry = readEntry(text);
    const ref = refOf(position, entry);
    if (position > frontier.size) {
      throw found("missing", { position: frontier.size }, "its line is missing");
    }
    if (position < frontier.size) {
      throw found("reordered", ref, `it is in place of ${frontier.size}`);
    }
    assertEntry(entry, ref);
    frontier.append(hashLeaf(text));
    this.#compareOlder(frontier);
    await this.#options.onEntry?.(position, entry, text);
    if (frontier.size % ENTRIES_PER_PROGRESS === 0) this.#options.onProgress?.(frontier.size);
  }

  #compare(frontier: Frontier, line: string): void {
    const { checkpoint: note } = parse(line);
    if (typeof note !== "string") throw this.#unreadable();
    const checkpoint = readSigned(note, this.#options.verifier);
    if (checkpoint.size !== frontier.size || !areEqual(checkpoint.root, frontier.root())) {
      const range = `${this.#checked} to ${Math.max(this.#checked, frontier.size - 1)}`;
      const message = `entries ${range} are not what was sealed`;
      throw found("altered", { position: this.#checked }, message);
    }
    this.#checked = frontier.size;
    this.#hasCheckpoint = true;
  }

  #compareOlder(frontier: Frontier): void {
    const { older } = this.#options;
    if (older?.size !== frontier.size || areEqual(older.root, frontier.root())) return;
    const message = `the first ${older.size} entries differ from those of the given checkpoint`;
    throw found("rewritten", {}, message);
  }

  #unreadable(): FindingError {
    return found("unreadable", {}, `line ${this.#lines} is not a line of an export`);
  }
}

const PROVEN =
  /^\{"checkpoint":("[^"]*"),"position":(\d{1,16}),"proof":(\[[^\]]*\]),"entry":(\{.*\})\}$/s;

/** @returns the entry of a proof @throws FindingError for an invalid proof */
export function verifyProof(
  line: string,
  verifier: Verifier,
): { readonly position: number; readonly size: number; readonly entry: EntryContent } {
  const [, note = "", written, hashes = "", text = ""] = PROVEN.exec(line) ?? [];
  const { read } = parse(`{"read":${note || null}}`);
  if (written === undefined || typeof read !== "string") {
    throw found("unreadable", {}, "a line is not a proof");
  }
  const checkpoint = readSigned(read, verifier);
  const position = Number(written);
  const entry = readEntry(text);
  const ref = refOf(position, entry);
  const { proof } = parse(`{"proof":${hashes}}`);
  const path = Array.isArray(proof) ? proof.map(toHash) : [];
  if (!isIncluded(hashLeaf(text), position, checkpoint, path)) {
    throw found("altered", ref, "the entry is not what was sealed at this position");
  }
  assertEntry(entry, ref);
  return { position, size: checkpoint.size, entry };
}

/** @throws FindingError for a text that is not an entry, or a fault of the entry */
function assertEntry(
  entry: EntryContent | undefined,
  ref: ReturnType<typeof refOf>,
): asserts entry is EntryContent {
  const fault = entry === undefined ? NOT_AN_ENTRY : findEntryFault(entry);
  if (fault !== undefined) throw found("entry", ref, fault);
}

/** @throws FindingError unless this key signed the checkpoint */
export function readSigned(note: string, verifier: Verifier): Checkpoint {
  const checkpoint = readCheckpoint(note);
  if (checkpoint === undefined) throw found("checkpoint", {}, "a checkpoint cannot be read");
  if (checkpoint.origin !== verifier.name) {
    const message = `a checkpoint is of the log ${checkpoint.origin}, not of ${verifier.name}`;
    throw found("checkpoint", {}, message);
  }
  if (isSignedBy(note, verifier)) return checkpoint;
  throw found("signature", {}, "a checkpoint is not signed by the public key");
}

function refOf(position: number, entry: EntryContent | undefined) {
  if (entry === undefined) return { position };
  const { id, kind, at } = entry;
  return { position, id, kind, at };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** A text in another form than an exported one has no hash, so nothing matches it. */
function toHash(text: unknown): Uint8Array {
  if (typeof text !== "string") return new Uint8Array();
  const hash = Buffer.from(text, "base64");
  return hash.toString("base64") === text ? hash : new Uint8Array();
}
