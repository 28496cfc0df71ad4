import { t } from "../language/t.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

export interface ListHeadProps {
  /** The order of the list, as text. */
  readonly children: string;
  onRefresh(): void;
}

/** The line above a long list: its order, and reading it anew. */
export function ListHead({ children, onRefresh }: ListHeadProps) {
  return (
    <header class="list-head">
      <span class="hint">{children}</span>
      <Button kind="quiet" onPress={onRefresh}>
        <Icon name="refresh" /> {t`Refresh`}
      </Button>
    </header>
  );
}
