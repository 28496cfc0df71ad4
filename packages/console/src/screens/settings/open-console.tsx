/** Notices of this browser while a console is open in it. */

import { useState } from "preact/hooks";
import { Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { chooseNotices, deviceNotices } from "../../live/notices.ts";
import { playNotice } from "../../live/sound.ts";
import { messageOf } from "../../parts/button.tsx";

export function OpenConsole() {
  const { desktop, sound } = deviceNotices.value;
  const [fault, setFault] = useState("");
  async function chooseDesktop(isOn: boolean): Promise<void> {
    try {
      if (isOn) await askPermission();
      setFault("");
      chooseNotices({ desktop: isOn });
    } catch (error) {
      setFault(messageOf(error));
    }
  }
  return (
    <section class="panel" aria-labelledby="open-title">
      <h2 id="open-title">{t`While the console is open`}</h2>
      <p class="hint">
        {t`For new requests, in this browser. Nothing happens while you use the console, in your \
quiet hours, or for requests that you do not want to be notified about.`}
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={desktop}
          onChange={({ currentTarget }) => {
            const { checked } = currentTarget;
            // Checked only after the browser's permission.
            currentTarget.checked = desktop;
            void chooseDesktop(checked);
          }}
        />
        {t`Show a desktop notification`}
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={sound}
          onChange={({ currentTarget: { checked } }) => {
            chooseNotices({ sound: checked });
            if (checked) playNotice();
          }}
        />
        {t`Play a sound`}
      </label>
      {fault !== "" && (
        <p class="alert" role="alert">
          {fault}
        </p>
      )}
    </section>
  );
}

/** @throws Refusal when the browser does not permit notifications */
async function askPermission(): Promise<void> {
  const isPermitted =
    "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
  if (isPermitted) return;
  const message = t`Notifications are off for this page. Allow them in the browser's settings.`;
  throw new Refusal(400, { message });
}
