/** The passkeys of the signed-in user. */

import type { Passkey } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { newPasskeyName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { createPasskey, supportsPasskeys } from "../../passkey.ts";

export function Passkeys() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /account/passkeys", { signal }),
    "passkeys",
  );
  return (
    <section class="panel" aria-labelledby="passkeys-title">
      <div class="panel-head">
        <h2 id="passkeys-title">{t`Passkeys`}</h2>
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
            {t`Create a passkey`}
          </Button>
        )}
      </div>
      <p class="hint">{t`Sign in and sign decisions with your fingerprint, face or PIN.`}</p>
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
          submit={t`Save name`}
          onSubmit={async (values) => {
            const body = { name: values("name") };
            await api.call("PATCH /account/passkeys/{passkey}", { path: { passkey: id }, body });
            setNaming(false);
            onChange();
          }}
        >
          <Field name="name" label={t`Name of the passkey`} value={name} maxLength={80} />
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
          {used_at === null
            ? rich`Added ${<When at={created_at} />}, not used yet`
            : rich`Added ${<When at={created_at} />}, last used ${<When at={used_at} />}`}
        </p>
      </div>
      <div class="actions">
        <Button kind="quiet" onPress={() => setNaming(true)}>
          {t`Rename`} <span class="spoken">{name}</span>
        </Button>
        <ConfirmButton
          title={t`Remove the passkey ${name}?`}
          consequence={t`It no longer signs you in. Delete the copy on the device as well.`}
          action={t`Remove passkey`}
          done={t`Removed the passkey ${name}.`}
          onConfirm={async () => {
            await api.call("DELETE /account/passkeys/{passkey}", { path: { passkey: id } });
            onChange();
          }}
        >
          {t`Remove`} <span class="spoken">{name}</span>
        </ConfirmButton>
      </div>
    </li>
  );
}
