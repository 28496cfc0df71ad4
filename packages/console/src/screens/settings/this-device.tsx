/** Web Push subscriptions: of this browser and of the person's other browsers. */

import type { Subscription, Subscriptions } from "@countersign/review-api";
import { api, Refusal } from "../../api.ts";
import { worker } from "../../device/register.ts";
import { deviceName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";

/** State of push notifications in this browser. */
interface Here {
  readonly push: Subscriptions;
  /** Of its endpoint; undefined when it has not subscribed. */
  readonly mine: string | undefined;
  readonly isAble: boolean;
}

export function ThisDevice() {
  const { value, error, reload } = useLoaded(look, "push");
  return (
    <section class="panel" aria-labelledby="push-title">
      <h2 id="push-title">{t`Notifications`}</h2>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {value !== undefined && <Devices here={value} onChange={reload} />}
    </section>
  );
}

async function look(signal: AbortSignal): Promise<Here> {
  const push = await api.call("GET /account/push", { signal });
  const registration = push.available ? await worker : undefined;
  const isAble = registration !== undefined && "pushManager" in registration;
  const subscription = isAble ? await registration.pushManager.getSubscription() : null;
  const mine = subscription === null ? undefined : await sha256(subscription.endpoint);
  return { push, mine, isAble };
}

async function sha256(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function Devices({ here, onChange }: { readonly here: Here; onChange(): void }) {
  const { push, mine, isAble } = here;
  const isSubscribed = push.subscriptions.some((one) => one.endpoint_sha256 === mine);
  return (
    <>
      <p class="hint">{hintOf(here)}</p>
      {isAble && !isSubscribed && (
        <Button
          onPress={async () => {
            await subscribe(push.public_key ?? "");
            onChange();
          }}
        >
          {t`Turn on notifications`}
        </Button>
      )}
      <ul class="rows">
        {push.subscriptions.map((one) => (
          <Row
            key={one.id}
            subscription={one}
            isHere={one.endpoint_sha256 === mine}
            onChange={onChange}
          />
        ))}
      </ul>
    </>
  );
}

function hintOf({ push, isAble }: Here): string {
  if (!push.available) return t`This server sends no notifications: webhooks are off.`;
  if (!isAble) {
    return t`Not supported by this browser. On a phone, add Countersign to the home screen first.`;
  }
  return t`A notification names the tool and the time left and opens the call; it never decides.`;
}

function refusal(message: string): Refusal {
  return new Refusal(400, { message });
}

async function subscribe(publicKey: string): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") {
    throw refusal(t`Notifications are off for this page. Allow them in the browser's settings.`);
  }
  const registration = await worker;
  if (registration === undefined)
    throw refusal(t`This browser does not support notifications here.`);
  const options = { userVisibleOnly: true, applicationServerKey: publicKey };
  const made = await registration.pushManager.subscribe(options);
  const { endpoint = "", keys: { p256dh = "", auth = "" } = {} } = made.toJSON();
  const name = deviceName(navigator.userAgent).slice(0, NAME_MAX);
  await api.call("POST /account/push", { body: { endpoint, keys: { p256dh, auth }, name } });
}

/** Characters of a browser's name. */
const NAME_MAX = 64;

interface RowProps {
  readonly subscription: Subscription;
  readonly isHere: boolean;
  onChange(): void;
}

function Row({ subscription, isHere, onChange }: RowProps) {
  const { id, name, created_at, failures } = subscription;
  return (
    <li>
      <div>
        <strong>
          <Text>{name}</Text>
        </strong>{" "}
        {isHere && <span class="badge approved">{t`This browser`}</span>}
        {failures > 0 && <span class="badge denied">{t`${failures} failed`}</span>}
        <p class="hint">{rich`Since ${<When at={created_at} />}`}</p>
      </div>
      <div class="actions">
        <Button
          kind="quiet"
          onPress={async () => {
            const { message } = await api.call("POST /account/push/{id}/test", { path: { id } });
            onChange();
            if (message !== "") throw refusal(message);
          }}
        >
          {t`Send test`} <span class="spoken">{t`to ${name}`}</span>
        </Button>
        <Button
          kind="quiet"
          onPress={async () => {
            if (isHere) await (await (await worker)?.pushManager.getSubscription())?.unsubscribe();
            await api.call("DELETE /account/push/{id}", { path: { id } });
            onChange();
          }}
        >
          {t`Remove`} <span class="spoken">{name}</span>
        </Button>
      </div>
    </li>
  );
}
