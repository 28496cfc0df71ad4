/** Reviewers who may decide the request and are absent. They can still decide it. */

import type { ReviewedRequest } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { describeAbsence } from "../../requests/absence-words.ts";
import { serverNow } from "../../time.ts";

export function Absences({ request }: { readonly request: ReviewedRequest }) {
  const { absences = [], status } = request;
  if (status !== "pending" || absences.length === 0) return null;
  return (
    <ul class="claimed" id="absences" aria-label={t`Absent reviewers`}>
      {absences.map((one) => (
        <li key={one.reviewer.id}>
          <Text>{`${one.reviewer.name}, ${describeAbsence(one, serverNow())}`}</Text>
        </li>
      ))}
    </ul>
  );
}
