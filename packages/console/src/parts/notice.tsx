/** Notices in place of content: an empty list, or an error. */

import type { ComponentChildren } from "preact";
import { t } from "../language/t.ts";
import { Button, messageOf } from "./button.tsx";

/** In place of a list in which nothing is: why, and what to do about it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export interface FaultProps {
  readonly error: unknown;
  /** Tries again. */
  onRetry?(): void;
}

/** An error of loading, with the server's message. */
export function Fault({ error, onRetry }: FaultProps) {
  return (
    <div class="alert" role="alert">
      {messageOf(error)}{" "}
      {onRetry !== undefined && <Button onPress={onRetry}>{t`Try again`}</Button>}
    </div>
  );
}
