import { Icon } from "./icon.tsx";

export type Status = "pending" | "approved" | "denied" | "expired" | "cancelled";

const WORDS: Readonly<Record<Status, readonly [word: string, icon: string]>> = {
  pending: ["Pending", "history"],
  approved: ["Approved", "check"],
  denied: ["Denied", "close"],
  expired: ["Expired", "history"],
  cancelled: ["Cancelled", "minus"],
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
