import { invalidField } from "@countersign/protocol";

const NAME_CHARS_MAX = 80;

const UNNAMED = "Passkey";

/**
 * How an owner tells a passkey from others.
 *
 * @throws Problem `invalid_request`
 */
export function parsePasskeyName(name: string = UNNAMED): string {
  if (name.length > NAME_CHARS_MAX) {
    throw invalidField("name", `must not be longer than ${NAME_CHARS_MAX} characters`);
  }
  const isSeen = /[^\p{White_Space}\p{C}]/u.test(name) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name);
  if (!isSeen) throw invalidField("name", "must be of characters that can be seen");
  return name;
}
