import type { Receiver } from "@countersign/review-api";
import { t } from "../../language/t.ts";
import { Icon } from "../../parts/icon.tsx";
import { countWords, healthOf } from "./wire.ts";

/** How a receiver does: a shape, words and a colour. */
export function HealthBadge({ receiver }: { readonly receiver: Receiver | null }) {
  const health = healthOf(receiver);
  if (receiver === null) return <span class="hint">{t`No receiver`}</span>;
  if (health === "good") {
    return (
      <span class="badge status approved">
        <Icon name="check" /> {t`Healthy`}
      </span>
    );
  }
  const waiting = countWords(receiver.waiting);
  return health === "failing" ? (
    <span class="badge status denied">
      <Icon name="close" /> {t`Failing, ${waiting} waiting`}
    </span>
  ) : (
    <span class="badge status">
      <Icon name="history" /> {t`${waiting} in progress`}
    </span>
  );
}
