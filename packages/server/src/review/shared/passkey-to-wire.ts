import { formatTimestamp } from "@countersign/protocol";
import type { Passkey } from "@countersign/review-api";
import type { ShownAccount } from "../../operations/people/showAccount.ts";

type NamedPasskey = ShownAccount["passkeys"][number];

/** A passkey as the reviewer API returns it. */
export function toWirePasskey({ id, name, createdAt, usedAt }: NamedPasskey): Passkey {
  return {
    id,
    name,
    created_at: formatTimestamp(createdAt),
    used_at: usedAt === null ? null : formatTimestamp(usedAt),
  };
}
