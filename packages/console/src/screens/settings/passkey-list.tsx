/** The passkeys of the person who is signed in. */

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { newPasskeyName } from "../../device-name.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { createPasskey, supportsPasskeys } from "../../passkey.ts";
import { signInUrl } from "../../root.ts";

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly used_at: string | null;
}

interface Offered {
  readonly options: PublicKeyCredentialCreationOptionsJSON;
}

export function Passkeys() {
  const { value, error, reload } = useLoaded(
    (signal) => call<{ passkeys: readonly Passkey[] }>("GET", "account/passkeys", { signal }),
    "passkeys",
  );
  return (
    <section class="panel" aria-labelledby="passkeys-title">
      <div class="panel-head">
        <h2 id="passkeys-title">Passkeys</h2>
        {supportsPasskeys() && (
          <Button
            onPress={async () => {
              const { options } = await call<Offered>("POST", "account/passkeys/options", {
                body: {},
              });
              const answer = await createPasskey(options);
              await call("POST", "account/passkeys", { body: { name: newPasskeyName(), answer } });
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
            await call("PATCH", `account/passkeys/${id}`, { body: { name: values("name") } });
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
            await call("DELETE", `account/passkeys/${id}`);
            onChange();
          }}
        >
          Remove <span class="spoken">{name}</span>
        </Button>
      </div>
    </li>
  );
}
