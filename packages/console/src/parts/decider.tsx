import { Text } from "../exact/text.tsx";
import { rich, t } from "../language/t.ts";

export interface Decided {
  /** Like `reviewer:ID` or `policy:RULE`. */
  readonly decided_by: string;
  /** Name of the reviewer who decided, where one did. */
  readonly decider?: string | undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  grant: t`A grant`,
  freeze: t`A freeze`,
  instance: t`The agent`,
  "system:deadline": t`The deadline`,
  "system:instance-deletion": t`The instance's deletion`,
};

/** The decider of a request, in words. */
export function Decider({ decided_by: by, decider }: Decided) {
  const [kind = "", ...rest] = by.split(":");
  if (decider !== undefined) return <Text>{decider}</Text>;
  if (kind === "policy") {
    return <>{rich`Rule ${<Text>{rest.join(":")}</Text>}`}</>;
  }
  return <Text>{WORDS[kind] ?? WORDS[by] ?? by}</Text>;
}
