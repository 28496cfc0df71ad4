/**
 * The places where an approval can be made: the console, the API with a token, and chats. The key
 * `channels` of `ask` restricts them. A denial is possible everywhere.
 */

/** Kinds of chats, as channels name them. */
const CHATS = ["slack_app", "telegram", "discord", "mattermost"] as const;

const PLACES = ["console", "api", ...CHATS] as const;

export type Place = (typeof PLACES)[number];

/** The words that a policy may use. */
export const PLACE_WORDS = [...PLACES, "chat"] as const;

type PlaceWord = (typeof PLACE_WORDS)[number];

/** The places of the words, sorted. The word `chat` is every chat. */
export function placesOf(words: readonly PlaceWord[]): readonly Place[] {
  const places = words.flatMap((word): readonly Place[] => (word === "chat" ? CHATS : [word]));
  return [...new Set(places)].sort();
}

/**
 * The places that both permit.
 *
 * @param one undefined: everywhere
 */
export function commonPlaces(
  one: readonly Place[] | undefined,
  other: readonly Place[] | undefined,
): readonly Place[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((place) => other.includes(place));
}

const NAMES: Readonly<Record<Place, string>> = {
  console: "the console",
  api: "the API",
  slack_app: "Slack",
  telegram: "Telegram",
  discord: "Discord",
  mattermost: "Mattermost",
};

/** Why an approval is not permitted at this place, as a sentence; undefined when it is. */
export function placeRefusal(
  permitted: readonly Place[] | undefined,
  place: Place,
): string | undefined {
  if (permitted === undefined || permitted.includes(place)) return undefined;
  if (permitted.length === 0) {
    return "The rules permit approvals at no common place. Deny the call, or change `channels`.";
  }
  const names = permitted.map((each) => NAMES[each]).join(" or ");
  return `The rule permits approvals in ${names} only. Approve the call there.`;
}
