/** The digest by which reviewers, clients and the audit log identify an exact text. */

import { hash } from "node:crypto";

/** SHA-256 of the stored text in UTF-8, as 64 lowercase hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}
