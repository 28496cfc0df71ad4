import type { SimulationSummary } from "@countersign/review-api";
import { plural, t } from "../../language/t.ts";

const VERBS: Readonly<Record<string, string>> = {
  approve: t`approve`,
  ask: t`ask`,
  deny: t`deny`,
};

/** The result of a simulation, in a sentence. */
export function summaryOf(summary: SimulationSummary): string {
  const { replayed, unchanged, changes, requirement_changed, errors, ended } = summary;
  if (replayed === 0) return t`No calls in that period.`;
  const counts = Object.entries(changes).map(([change, count]) => {
    const [was = "", wouldBe = ""] = change.split("->").map((verb) => VERBS[verb] ?? verb);
    return plural(
      count,
      { one: "1 changes from {0} to {1}", other: "# change from {0} to {1}" },
      was,
      wouldBe,
    );
  });
  if (requirement_changed > 0) {
    counts.push(
      plural(requirement_changed, {
        one: "1 needs different approvals",
        other: "# need different approvals",
      }),
    );
  }
  counts.push(t`${unchanged} unchanged`);
  const checked = plural(replayed, { one: "1 call checked", other: "# calls checked" });
  const sentences = [`${checked}: ${counts.join(", ")}.`];
  if (errors > 0) sentences.push(t`${errors} hit a rule error.`);
  if (ended !== "all") sentences.push(t`Older calls were skipped.`);
  return sentences.join(" ");
}
