/**
 * Servers of the storage-only baseline, with the interface of a provider.
 */

import { join } from "node:path";
import { startChild } from "../children.ts";
import { startShared } from "../postgres/shared-subject.ts";
import { openTarget, type Subject, startSubject } from "../subject.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";

export interface RowsOptions {
  readonly connections: number;
  /** Whether requests are decided when they are made. */
  readonly decided?: boolean;
  /** URL of an empty database; a file of SQLite without it. */
  readonly url?: string;
}

/** Its tokens are empty: it asks for none. */
export async function startRows({ connections, decided, url }: RowsOptions): Promise<Subject> {
  const folder = temporaryFolder();
  // Migrates and makes the instance that the rows belong to.
  const provider =
    url === undefined ? startSubject({ connections: 1, folder }) : startShared(url, 1);
  await (await provider).stop();
  const args = [url ?? join(folder, "countersign.db"), ...(decided ? ["decided"] : [])];
  const child = await startChild<{ port: number }>({ file: "rows/rows-server.ts", args });
  const { port } = child.ready;
  const target = await openTarget(child, port, connections, () => removeFolder(folder));
  let number = 0;
  return {
    ...target,
    token: "",
    reviewerToken: "",
    nextNumber: () => number++,
    fill: () => Promise.reject(new Error("the storage-only baseline cannot be filled")),
  };
}
