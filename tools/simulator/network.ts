/**
 * Between clients and replicas: a load balancer that sends a call to any of them, loses questions
 * and answers, and now and then plays a call twice.
 */

import { type Answer, type Call, exchange } from "./exchange.ts";
import type { Faults } from "./faults.ts";
import type { Replica } from "./replica.ts";
import type { Actor, World } from "./world.ts";

/** An exchange, from its beginning at a replica to its answer there. */
export interface Played {
  readonly call: Call;
  readonly answer: Answer;
  /** {@link World.turns} when it started. */
  readonly startedAt: number;
}

export interface NetworkParts {
  readonly world: World;
  readonly replicas: readonly Replica[];
  readonly faults: () => Faults;
  /** A replica has an answer, whether it arrives or not. */
  readonly onAnswer: (played: Played) => void;
}

export const LOST: Answer = { status: 0, code: undefined, text: "" };

/** How long a client waits for an answer, ms; longer than any poll or verification. */
const PATIENCE_MS = 60_000;

/** How many of the calls go to one replica, and how often that becomes another one. */
const STAYS = 0.6;
const MOVES = 0.05;

export class Network {
  readonly #parts: NetworkParts;
  #favourite: Replica | undefined;
  /** Exchanges that a replica is playing, by replica. */
  readonly #playing = new Map<Replica, Set<Promise<unknown>>>();

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  /** Sends the call once. The replica may execute it even when the response is lost. */
  async ask(client: Actor, call: Call): Promise<Answer> {
    const { world, faults } = this.#parts;
    const { draw } = world;
    await world.turn(client, `asks to ${call.kind}`);
    const serving = this.#serving();
    if (serving.length === 0) {
      await world.sleep(client, 500, "finds no server");
      return LOST;
    }
    const isQuestionLost = draw.happens(faults().exchangeLost / 2);
    const isAnswerLost = draw.happens(faults().exchangeLost / 2);
    if (draw.happens(faults().exchangeTwice)) void this.#play(draw.among(serving), call);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const giveUp = () => resolve(LOST);
    const cancels: (() => void)[] = [];
    cancels.push(world.after(client, PATIENCE_MS, "gives up waiting", giveUp));
    if (isQuestionLost) world.after(client, draw.between(10, 5_000), "notices a loss", giveUp);
    else {
      const replica = this.#choose(serving);
      cancels.push(this.#whenGone(client, replica, giveUp));
      this.#play(replica, call).then((answer) => {
        world.schedule(client, `hears ${answer.status}`, () =>
          resolve(isAnswerLost ? LOST : answer),
        );
      });
    }
    const answer = await promise;
    for (const cancel of cancels) cancel();
    return answer;
  }

  /** Resolves when the replica plays nothing any more. */
  async drained(replica: Replica): Promise<void> {
    const playing = this.#playing.get(replica);
    while (playing !== undefined && playing.size > 0) await Promise.all(playing);
  }

  /** Mostly the one that most others are sent to as well, so that calls meet in one process. */
  #choose(serving: readonly Replica[]): Replica {
    const { draw } = this.#parts.world;
    if (this.#favourite === undefined || draw.happens(MOVES)) this.#favourite = draw.among(serving);
    const isFree = !draw.happens(STAYS) || !serving.includes(this.#favourite);
    return isFree ? draw.among(serving) : this.#favourite;
  }

  #serving(): Replica[] {
    return this.#parts.replicas.filter(({ isServing }) => isServing);
  }

  /** Never resolves when the replica ends. */
  #play(replica: Replica, call: Call): Promise<Answer> {
    const { world, onAnswer } = this.#parts;
    const onBug = (error: unknown) =>
      world.fail("bug", error instanceof Error ? String(error.stack) : String(error));
    const playing = this.#playing.get(replica) ?? new Set();
    this.#playing.set(replica, playing);
    const played = (async () => {
      await world.turn(replica, `is asked to ${call.kind}`);
      const startedAt = world.turns;
      const answer = await exchange(replica.context, call, onBug);
      onAnswer({ call, answer, startedAt });
      world.note(replica, `answers ${call.kind}: ${answer.status} ${answer.code ?? ""}`);
      return answer;
    })();
    const tracked: Promise<unknown> = played.finally(() => playing.delete(tracked));
    playing.add(tracked);
    return played;
  }

  /** The connection of a process that ended is reset. @returns ends the watch */
  #whenGone(client: Actor, replica: Replica, giveUp: () => void): () => void {
    const notice = () => this.#parts.world.schedule(client, "is cut off", giveUp);
    replica.onEnd.add(notice);
    return () => replica.onEnd.delete(notice);
  }
}
