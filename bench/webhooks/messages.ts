/**
 * The messages between the benchmark and its receivers, and the webhooks that the baseline sends.
 */

/** How a receiver handles notifications. It answers verifications in every mode. */
export type Behaviour =
  | "acknowledge"
  /** Acknowledges and ends the connection, so that every notification needs another. */
  | "close"
  /** Reads, and never answers. */
  | "hang";

/** To the receivers. */
export type Order =
  | { readonly kind: "behave"; readonly host: string; readonly as: Behaviour }
  /** Report every notification when it arrives. */
  | { readonly kind: "watch" }
  /** Time different notifications, from the end of the `skipped`th to that of the `until`th. */
  | { readonly kind: "count"; readonly skipped: number; readonly until: number };

/** From the receivers. */
export type Word = Arrival | { readonly kind: "counting" } | { readonly kind: "skipped" } | Counted;

export interface Arrival {
  readonly kind: "arrived";
  readonly requestId: string;
  /** Monotonic, in ms. */
  readonly firstByteAtMs: number;
  /** The first on its connection. */
  readonly isFirst: boolean;
}

export interface Counted {
  readonly kind: "counted";
  readonly seconds: number;
  /** Notifications that came once more. */
  readonly repeated: number;
}

/** 127.0.0.1 to 127.0.0.100 are a hundred hosts without a name server. */
export function hostName(i: number): string {
  return `127.0.0.${i + 1}`;
}

export const SIGNING_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
