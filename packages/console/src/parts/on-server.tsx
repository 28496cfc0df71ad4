/** The MCP server of a tool, beside the name of the tool. */

import { Text } from "../exact/text.tsx";
import { rich } from "../language/t.ts";

export function OnServer({ server }: { readonly server: string | undefined }) {
  if (server === undefined) return null;
  return <bdi class="faint server">{rich`on ${<Text>{server}</Text>}`} </bdi>;
}
