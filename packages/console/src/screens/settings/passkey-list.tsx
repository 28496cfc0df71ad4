/** The passkeys of the signed-in user. */

import type { Passkey } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { newPasskeyName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { createPasskey, supportsPasskeys } from "../../passkey.ts";
import { signInUrl } from "../../root.ts";

export function Passkeys() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /account/passkeys", { signal }),
    "passkeys",
  );
  return (
    <section class="panel" aria-labelledby="passkeys-title">
      <div class="panel-head">
        <h2 id="passkeys-title">Passkeys</h2>
        {supportsPasskeys() && (
          <Button
            onPress={async () => {
              const { options } = await api.call("POST /account/passkeys/options");
              const answer = await createPasskey(options);
              const body = { name: newPasskeyName(), answer };
              await api.call("POST /account/passkeys", { body });
              reload();
            }}
          >
            Create a passkey
          </Button>
        )}
      </div>
      <p class="hint">
        Sign in and sign decisions with your fingerprint, face or PIN. To add or remove one,{" "}
        <a href={signInUrl()}>sign in again</a> if that was more than 10 minutes ago.
      </p>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <ul class="rows">
        {value?.passkeys.map((passkey) => (
          <Row key={passkey.id} passkey={passkey} onChange={reload} />
        ))}
      </ul>
    </section>
  );
}

function Row({ passkey, onChange }: { readonly passkey: Passkey; onChange(): void }) {
  const [isNaming, setNaming] = useState(false);
  const { id, name, created_at, used_at } = passkey;
  if (isNaming) {
    return (
      <li>
        <Form
          kind="plain"
          submit="Save name"
          onSubmit={async (values) => {
            const body = { name: values("name") };
            await api.call("PATCH /account/passkeys/{passkey}", { path: { passkey: id }, body });
            setNaming(false);
            onChange();
          }}
        >
          <Field name="name" label="Name of the passkey" value={name} maxLength={80} />
        </Form>
      </li>
    );
  }
  return (
    <li>
      <div>
        <strong>
          <Text>{name}</Text>
        </strong>
        <p class="hint">
          Added <When at={created_at} />,{" "}
          {used_at === null ? (
            "not used yet"
          ) : (
            <>
              last used <When at={used_at} />
            </>
          )}
        </p>
      </div>
      <div class="actions">
        <Button kind="quiet" onPress={() => setNaming(true)}>
          Rename <span class="spoken">{name}</span>
        </Button>
        <Button
          kind="quiet"
          onPress={async () => {
            await api.call("DELETE /account/passkeys/{passkey}", { path: { passkey: id } });
            onChange();
          }}
        >
          Remove <span class="spoken">{name}</span>
        </Button>
      </div>
    </li>
  );
}
