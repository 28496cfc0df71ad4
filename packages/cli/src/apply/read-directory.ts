/** Reads the files of a directory, and the policy files that its documents name. */

import { readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CommandError, EXIT } from "@countersign/command-line";
import { examineFile, readPolicyFile } from "../policy-file.ts";
import { type Document, Documents } from "./document.ts";
import { type FileFinding, findingAt } from "./finding.ts";
import type { Kind } from "./kind.ts";
import { baselinePolicy, policy } from "./kinds/policy.ts";
import { parseDocuments } from "./parse-documents.ts";

export interface ReadDirectory {
  readonly documents: Documents;
  readonly findings: readonly FileFinding[];
}

/**
 * Reads all YAML files of a directory and its subdirectories, or one file.
 *
 * @throws CommandError when it cannot be read, or has no YAML file
 */
export function readDirectory(directory: string, kinds: readonly Kind[]): ReadDirectory {
  const files = listFiles(directory);
  if (files.length === 0) {
    throw new CommandError(EXIT.refused, "no_file", `${directory} has no file *.yaml`);
  }
  const parsed = files.map((file) => {
    return { file, ...parseDocuments(file, readPolicyFile(file), kinds) };
  });
  const policyFiles = parsed.flatMap(({ documents }) => documents.flatMap(policyFileOf));
  // The language of policies has its own schema. A file with documents is not a policy: without
  // the second condition, a document that names its own file would be dropped.
  const own = parsed.filter(
    ({ file, documents }) => documents.length > 0 || !policyFiles.includes(resolve(file)),
  );
  const documentFiles = new Set(
    own.filter((one) => one.documents.length > 0).map(({ file }) => resolve(file)),
  );
  const findings = own.flatMap((one) => one.findings);
  const documents = own.flatMap((one) => one.documents);
  findings.push(...findDuplicates(documents));
  const complete = documents.map((document) => withPolicy(document, documentFiles, findings));
  return { documents: new Documents(complete), findings };
}

function listFiles(directory: string): string[] {
  try {
    if (!statSync(directory).isDirectory()) return [directory];
    return readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.ya?ml$/.test(name) && !/(^|[\\/])\./.test(name))
      .sort()
      .map((name) => join(directory, name));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new CommandError(EXIT.refused, "no_file", `${directory} cannot be read (${code})`);
  }
}

/** Absolute, as the only item; none for other kinds. */
function policyFileOf({ kind, spec, placeOf }: Document): string[] {
  if (kind !== policy.kind && kind !== baselinePolicy.kind) return [];
  const { policy_file: file } = spec as { readonly policy_file: string };
  return [resolve(dirname(placeOf().file), file)];
}

/** @param documentFiles absolute paths of the files with documents */
function withPolicy(
  document: Document,
  documentFiles: ReadonlySet<string>,
  findings: FileFinding[],
): Document {
  const [path] = policyFileOf(document);
  if (path === undefined) return document;
  const place = document.placeOf(["policy_file"]);
  const file = join(dirname(place.file), (document.spec as { policy_file: string }).policy_file);
  if (documentFiles.has(path)) {
    const message = `${file} contains documents; write the policy to a file of its own`;
    findings.push(findingAt(place, "policy_file", message));
    return document;
  }
  try {
    const policyText = readPolicyFile(file);
    const faults = examineFile(policyText, document.kind === baselinePolicy.kind).findings;
    findings.push(...faults.map((fault) => ({ ...fault, file })));
    return { ...document, policyText };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    findings.push(findingAt(place, "policy_file", error.message));
    return document;
  }
}

/** Reviewers and bots share their names. */
function findDuplicates(documents: readonly Document[]): FileFinding[] {
  const keyOf = ({ kind, name }: Document) =>
    JSON.stringify([kind === "Bot" ? "Reviewer" : kind, name]);
  const firsts = new Map<string, Document>();
  return documents.flatMap((document) => {
    const first = firsts.get(keyOf(document));
    firsts.set(keyOf(document), first ?? document);
    if (first === undefined) return [];
    const { file, line } = first.placeOf();
    const message = `${document.kind} ${document.name} is already in ${file}:${line}`;
    return [findingAt(document.placeOf(), "", message)];
  });
}
