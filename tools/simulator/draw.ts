/**
 * Everything that a simulation leaves to chance, from one seed.
 */

import type { Random } from "../../packages/server/src/clock.ts";
import { type Chance, seeded } from "./random.ts";

export class Draw {
  readonly #chance: Chance;

  constructor(seed: number) {
    this.#chance = seeded(Math.imul(seed, 0x9e37_79b1) ^ 0x5bd1_e995);
    // Neighbouring seeds begin alike.
    for (let i = 0; i < 4; i++) this.#chance();
  }

  /** From 0 up to but not 1. */
  fraction(): number {
    return this.#chance();
  }

  /** A whole number from 0 up to but not `count`. */
  below(count: number): number {
    return Math.floor(this.#chance() * count);
  }

  /** A whole number between both, which it may be. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** @param probability 0 draws nothing, so that a fault that is off disturbs no other draw */
  happens(probability: number): boolean {
    return probability > 0 && this.#chance() < probability;
  }

  /** @throws Error when there is nothing to draw */
  among<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error("there is nothing to draw from");
    return list[this.below(list.length)] as T;
  }

  /** One of the names, as often as their weights say. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let left = this.#chance() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    return this.among(names);
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }

  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString("hex");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  /** As the product is given chance. */
  random(): Random {
    return { bytes: (count) => this.bytes(count), uuid: () => this.uuid() };
  }
}
