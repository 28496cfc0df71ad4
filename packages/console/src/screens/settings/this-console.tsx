/** The user's preferences for the console, on all devices. */

import type { AfterDecision, Language, Notify, QuietHours, Theme } from "@countersign/review-api";
import { Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { Choice, Field, Form, type Values } from "../../parts/form.tsx";
import { changePreferences, preferences } from "../../preferences.ts";

const THEME_LABELS: Readonly<Record<Theme, string>> = {
  system: t`System`,
  light: t`Light`,
  dark: t`Dark`,
  contrast: t`High contrast`,
};

/** Each in its own language. */
const LANGUAGE_LABELS: Readonly<Record<Language, string>> = { en: "English", de: "Deutsch" };

const LANGUAGES: readonly (readonly [string, string])[] = [
  ["", t`Browser's language`],
  ...Object.entries(LANGUAGE_LABELS),
];

const AFTER_LABELS: Readonly<Record<AfterDecision, string>> = {
  next: t`Open the next request`,
  stay: t`Stay on the request`,
};

const NOTIFY_LABELS: Readonly<Record<Notify, string>> = {
  all: t`All requests that I may decide`,
  named: t`Only requests that name me or one of my groups`,
  none: t`Nothing`,
};

const KEYS = [
  ["on", t`On: a approves, d denies, ? lists all`],
  ["off", t`Off`],
] as const;

export function ThisConsole() {
  const {
    language,
    theme,
    keys,
    after_decision: after,
    quiet_hours: quiet,
    time_zone: timeZone,
    notify,
  } = preferences.value;
  return (
    <section class="panel" aria-labelledby="console-title">
      <h2 id="console-title">{t`This console`}</h2>
      <Form
        kind="plain"
        submit={t`Save`}
        done={t`Saved.`}
        onSubmit={(values) =>
          changePreferences({
            language: (values("language") || null) as Language | null,
            theme: values("theme") as Theme,
            keys: values("keys") === "on",
            after_decision: values("after") as AfterDecision,
            quiet_hours: quietOf(values),
            time_zone: values("time_zone") || null,
            notify: values("notify") as Notify,
          })
        }
      >
        <Choice name="language" label={t`Language`} value={language ?? ""} options={LANGUAGES} />
        <Choice
          name="theme"
          label={t`Theme`}
          value={theme}
          options={Object.entries(THEME_LABELS)}
        />
        <Choice
          name="after"
          label={t`After a decision`}
          value={after}
          options={Object.entries(AFTER_LABELS)}
        />
        <Choice
          name="keys"
          label={t`Keyboard shortcuts`}
          value={keys ? "on" : "off"}
          options={KEYS}
        />
        <Choice
          name="time_zone"
          label={t`Time zone`}
          hint={t`All times in the console are in this zone.`}
          value={timeZone ?? ""}
          options={ZONES}
        />
        <div class="span">
          <Field
            name="quiet_hours.from"
            label={t`Quiet hours from (optional)`}
            type="time"
            value={quiet?.from ?? ""}
          />
          <Field name="quiet_hours.to" label={t`Until`} type="time" value={quiet?.to ?? ""} />
        </div>
        <Choice
          name="notify"
          label={t`Notify me about`}
          value={notify}
          options={Object.entries(NOTIFY_LABELS)}
        />
        <p class="hint">
          {t`No notifications during these hours (${quiet?.time_zone ?? ZONE}). Pending requests \
are announced afterwards.`}
        </p>
      </Form>
    </section>
  );
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const ZONES: readonly (readonly [string, string])[] = [
  ["", t`Browser's zone (${ZONE})`],
  ...[...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])].map(
    (zone) => [zone, zone] as const,
  ),
];

function quietOf(values: Values): QuietHours | null {
  const [from, to] = [values("quiet_hours.from"), values("quiet_hours.to")];
  if (from === "" && to === "") return null;
  if (from === "" || to === "") {
    const message = t`Enter both times, or leave both empty.`;
    throw new Refusal(400, { param: from === "" ? "quiet_hours.from" : "quiet_hours.to", message });
  }
  return { from, to, time_zone: preferences.value.quiet_hours?.time_zone ?? ZONE };
}
