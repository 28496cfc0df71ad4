import { Text } from "../exact/text.tsx";

export interface Decided {
  /** Like `reviewer:ID` or `policy:RULE`. */
  readonly decided_by: string;
  /** Name of the reviewer who decided, where one did. */
  readonly decider?: string | undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  grant: "A grant",
  freeze: "A freeze",
  instance: "The agent",
  "system:deadline": "The deadline",
  "system:instance-deletion": "The instance's deletion",
};

/** The decider of a request, in words. */
export function Decider({ decided_by: by, decider }: Decided) {
  const [kind = "", ...rest] = by.split(":");
  if (decider !== undefined) return <Text>{decider}</Text>;
  if (kind === "policy") {
    return (
      <>
        Rule <Text>{rest.join(":")}</Text>
      </>
    );
  }
  return <Text>{WORDS[kind] ?? WORDS[by] ?? by}</Text>;
}
