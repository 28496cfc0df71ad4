/** The MCP server of a tool, beside the name of the tool. */

import { Text } from "../exact/text.tsx";

export function OnServer({ server }: { readonly server: string | undefined }) {
  if (server === undefined) return null;
  return (
    <bdi class="faint server">
      on <Text>{server}</Text>{" "}
    </bdi>
  );
}
