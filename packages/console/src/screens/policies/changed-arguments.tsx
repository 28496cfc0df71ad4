/** The arguments of a past call, which are loaded on demand. */

import { exactText } from "@countersign/review-api/exact";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { LongText } from "../../exact/long-text.tsx";
import { t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Scroller } from "../../parts/scroller.tsx";

export function ChangedArguments({ id }: { readonly id: string }) {
  const [text, setText] = useState<string>();
  return (
    <>
      <Button
        kind="quiet"
        onPress={async () => {
          if (text !== undefined) return setText(undefined);
          const request = await api.call("GET /requests/{id}", { path: { id } });
          setText(exactText(request.arguments));
        }}
      >
        {text === undefined ? t`Show arguments` : t`Hide arguments`}
      </Button>
      {text !== undefined && (
        <Scroller class="changed-arguments" label={t`Arguments`}>
          <code>
            <LongText text={text} />
          </code>
        </Scroller>
      )}
    </>
  );
}
