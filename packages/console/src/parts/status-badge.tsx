import { t } from "../language/t.ts";
import { Icon } from "./icon.tsx";

export type Status = "pending" | "approved" | "denied" | "expired" | "cancelled";

const WORDS: Readonly<Record<Status, readonly [word: string, icon: string]>> = {
  pending: [t`Pending`, "history"],
  approved: [t`Approved`, "check"],
  denied: [t`Denied`, "close"],
  expired: [t`Expired`, "history"],
  cancelled: [t`Cancelled`, "minus"],
};

/** Status of a request, as a shape, a word and a colour. */
export function StatusBadge({ status }: { readonly status: Status }) {
  const [word, icon] = WORDS[status];
  return (
    <span class={`badge status ${status}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}
