/**
 * Instances: the identities of adapters.
 *
 * @see contract: Resources, Instance; States and transitions, Instance
 */

import type { JsonText } from "./request.ts";

export interface StoredInstance {
  readonly id: string;
  readonly projectId: string;
  readonly provisionerId: string;
  readonly name: JsonText;
  readonly createdAt: number;
  readonly deletedAt: number | null;
  /** Set by the admins of the project. Policies use them to match instances. */
  readonly groups: readonly string[];
  /** A reviewer; null when the instance has no owner. */
  readonly ownerId: string | null;
}

/** The receiver of an instance's notifications, verified before it became active. */
export interface StoredReceiver {
  /** As the provisioner wrote it. */
  readonly url: string;
  readonly registrationId: string;
  readonly encryptedSecret: string;
  /** Epoch ms. */
  readonly verifiedAt: number;
}

/** An instance in an answer, without its credential and secret. */
export interface AnsweredInstance {
  readonly id: string;
  readonly name: JsonText;
  readonly receiver: Pick<StoredReceiver, "url" | "registrationId"> | null;
}

/** An answer as stored with its Idempotency-Key. Older rows contain only a name. */
export function writeAnswer({ name, receiver }: AnsweredInstance): JsonText {
  if (receiver === null) return name;
  const { url, registrationId } = receiver;
  return JSON.stringify({ name, url, registrationId });
}

export function readAnswer(id: string, text: JsonText): AnsweredInstance {
  if (!text.startsWith("{")) return { id, name: text, receiver: null };
  const { name, url, registrationId } = JSON.parse(text) as Record<string, string>;
  if (name === undefined || url === undefined || registrationId === undefined) {
    throw new Error("a stored answer is incomplete");
  }
  return { id, name, receiver: { url, registrationId } };
}

const QUALITIES = (
  "able amber brave brisk calm clear clever coral crisp early eager fair fleet fond gentle glad " +
  "golden grand green happy hardy jolly keen kind light lively lucky mellow merry neat noble " +
  "plain proud quick quiet rapid ready sharp silver sleek solid sound spry steady still stout " +
  "sunny swift tall tidy true vivid warm wise young"
).split(" ");

const BIRDS = (
  "avocet bunting bustard condor coot crane cuckoo curlew dipper dove dunlin egret eider falcon " +
  "finch fulmar gannet godwit goose grebe grouse gull harrier hawk heron hobby hoopoe ibis jay " +
  "kestrel kite knot lark linnet magpie martin merlin nightjar oriole osprey owl petrel pigeon " +
  "pipit plover puffin quail raven robin ruff shrike siskin skua snipe starling stork swallow " +
  "swan swift tern thrush wagtail warbler wren"
).split(" ");

/** Without 0, 1, l and o, so that people can read names aloud. */
const SUFFIX_LETTERS = "23456789abcdefghijkmnpqrstuvwxyz";

/**
 * A name for an instance without one: two words and four characters, readable aloud, like
 * `quiet-heron-7k2m`. A name does not prove an identity and need not be unique.
 *
 * @param random at least 8 unpredictable bytes
 */
export function defaultInstanceName(random: Uint8Array): string {
  const at = (i: number) => random[i] ?? 0;
  const pick = (words: readonly string[], i: number) =>
    words[(at(i) * 256 + at(i + 1)) % words.length];
  const suffix = [4, 5, 6, 7].map((i) => SUFFIX_LETTERS[at(i) % SUFFIX_LETTERS.length]).join("");
  return `${pick(QUALITIES, 0)}-${pick(BIRDS, 2)}-${suffix}`;
}
