/** In place of an empty history: why it is empty, and what finds more. */

import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/notice.tsx";
import { changeQuery } from "../../parts/query.ts";
import { route } from "../../route.ts";

export function NothingEnded({ isFiltered }: { readonly isFiltered: boolean }) {
  if (!isFiltered) {
    return (
      <Empty title={t`No decisions yet`}>
        <p>{t`Approved, denied, cancelled and expired requests appear here.`}</p>
      </Empty>
    );
  }
  const tool = route.value.query.get("tool") ?? "";
  return (
    <Empty title={t`No matching requests`}>
      <p>{t`Remove a filter or select other dates.`}</p>
      {tool !== "" && !tool.endsWith("*") && <PrefixOffer tool={tool} />}
    </Empty>
  );
}

/** The filter takes a whole name, or a prefix with `*`. */
function PrefixOffer({ tool }: { readonly tool: string }) {
  function showPrefix(): void {
    changeQuery({ tool: `${tool}*` });
    // The pressed button disappears with the empty list.
    document.querySelector("h1")?.focus();
  }
  return (
    <Button onPress={showPrefix}>{rich`Show tools that start with ${<Text>{tool}</Text>}`}</Button>
  );
}
