/** The user's preferences for the console, on all devices. */

import type { QuietHours, Theme } from "@countersign/review-api";
import { Choice, Field, Form, type Values } from "../../parts/form.tsx";
import { changePreferences, preferences } from "../../preferences.ts";

const THEME_LABELS: Readonly<Record<Theme, string>> = {
  system: "System",
  light: "Light",
  dark: "Dark",
};

const KEYS = [
  ["on", "On: a approves, d denies, ? lists all"],
  ["off", "Off"],
] as const;

export function ThisConsole() {
  const { theme, keys, quiet_hours: quiet } = preferences.value;
  return (
    <section class="panel" aria-labelledby="console-title">
      <h2 id="console-title">This console</h2>
      <Form
        // A new response of the server resets the fields.
        key={JSON.stringify(preferences.value)}
        kind="plain"
        submit="Save"
        onSubmit={(values) =>
          changePreferences({
            theme: values("theme") as Theme,
            keys: values("keys") === "on",
            quiet_hours: quietOf(values),
          })
        }
      >
        <Choice name="theme" label="Theme" value={theme} options={Object.entries(THEME_LABELS)} />
        <Choice name="keys" label="Keyboard shortcuts" value={keys ? "on" : "off"} options={KEYS} />
        <div class="span">
          <Field
            name="from"
            label="Quiet hours from (optional)"
            type="time"
            value={quiet?.from ?? ""}
          />
          <Field name="to" label="Until" type="time" value={quiet?.to ?? ""} />
        </div>
        <p class="hint">
          No notifications during these hours ({quiet?.time_zone ?? ZONE}). Pending requests are
          announced afterwards.
        </p>
      </Form>
    </section>
  );
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function quietOf(values: Values): QuietHours | null {
  const [from, to] = [values("from"), values("to")];
  if (from === "" && to === "") return null;
  return { from, to, time_zone: preferences.value.quiet_hours?.time_zone ?? ZONE };
}
