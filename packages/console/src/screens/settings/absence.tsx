/** The absence of the signed-in user: who is notified instead. */

import type { Reviewer, ShownAbsence } from "@countersign/review-api";
import { allows } from "@countersign/review-api/roles";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Choice, Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { may } from "../../powers.ts";
import { describeAbsence } from "../../requests/absence-words.ts";
import { session } from "../../session.ts";
import { serverNow } from "../../time.ts";

export function OwnAbsence() {
  const { value, error, reload } = useLoaded(load, "absences");
  const me = session.value?.project?.reviewer.id;
  if (!may("decide")) return null;
  const own = value?.absences.find(({ reviewer }) => reviewer.id === me);
  return (
    <section class="panel" aria-labelledby="absence-title">
      <h2 id="absence-title">{t`Absence`}</h2>
      <p class="hint">
        {t`While you are absent, your substitute gets your push notifications of requests that \
they may decide. You can still decide. Enter times in the time zone of this browser.`}
      </p>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {own !== undefined && <Current absence={own} onChange={reload} />}
      {value !== undefined && (
        <Period
          reviewers={value.reviewers.filter((one) => one.id !== me && maySubstitute(one))}
          onChange={reload}
        />
      )}
    </section>
  );
}

async function load(signal: AbortSignal) {
  const [{ absences }, { reviewers }] = await Promise.all([
    api.call("GET /absences", { signal }),
    api.call("GET /reviewers", { signal }),
  ]);
  return { absences, reviewers };
}

function maySubstitute({ kind, role }: Reviewer): boolean {
  return kind === "person" && allows(role, "decide");
}

function Current({ absence, onChange }: { readonly absence: ShownAbsence; onChange(): void }) {
  return (
    <div class="panel-head" id="own-absence">
      <p>{rich`You are ${<Text>{describeAbsence(absence, serverNow())}</Text>}.`}</p>
      <Button
        onPress={async () => {
          await api.call("DELETE /absence");
          onChange();
        }}
      >
        {t`End the absence`}
      </Button>
    </div>
  );
}

interface PeriodProps {
  readonly reviewers: readonly Reviewer[];
  onChange(): void;
}

function Period({ reviewers, onChange }: PeriodProps) {
  const names = reviewers.map(({ name }) => [name, name] as const);
  return (
    <Form
      kind="plain"
      submit={t`Set absence`}
      done={t`Absence set.`}
      onSubmit={async (values) => {
        const substitute = values("substitute");
        const body = {
          from: toInstant(values("from")),
          until: toInstant(values("until")),
          ...(substitute !== "" && { substitute }),
        };
        await api.call("PUT /absence", { body });
        onChange();
      }}
    >
      <Field name="from" label={t`Absent from`} type="datetime-local" />
      <Field name="until" label={t`Until`} type="datetime-local" hint={t`At most 90 days later.`} />
      <Choice
        name="substitute"
        label={t`Substitute (optional)`}
        options={[["", t`No substitute`], ...names]}
      />
    </Form>
  );
}

/** A local time of the browser as a timestamp. The server rejects an empty one with its field. */
function toInstant(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
