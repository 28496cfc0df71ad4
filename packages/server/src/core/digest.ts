/** The digest that reviewers, clients and the audit log use to name an exact text. */

import { hash } from "node:crypto";

/** The SHA-256 of the exact stored text in UTF-8, as 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}
