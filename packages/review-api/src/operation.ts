/**
 * An operation of the reviewer API as data. Routes, validation, the client, the OpenAPI
 * description, the reference page and the authorization tests derive from it.
 */

import type { ProblemCode } from "@countersign/protocol";
import type * as v from "valibot";
import type { ExactObject, Writable } from "./exact.ts";
import type { Power } from "./roles.ts";

export type Schema = v.GenericSchema;

/**
 * The allowed caller: a reviewer with a token or session; a signed-in user, in a project or not;
 * or anyone, from a page of this server.
 */
export type CallerKind = "reviewer" | "person" | "anonymous";

/** An answer that is not one JSON value. */
export interface StreamAnswer {
  /** Its media type. */
  readonly stream: string;
  /** One line, where the answer consists of lines of JSON. */
  readonly line?: Schema;
  /** Another media type that the caller can choose. */
  readonly otherStream?: string;
}

export type AnswerStatus = 200 | 201 | 202 | 204 | 303;

export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With parameters in braces. `{id}` is an identifier; any other parameter is a text. */
  readonly path: `/${string}`;
  /** One sentence that starts with a verb. */
  readonly summary: string;
  readonly caller: CallerKind;
  /**
   * The power that the role and the token of a reviewer must allow. For GET the server checks it
   * before the handler runs. Otherwise the operation checks it, because it may depend on the body.
   */
  readonly power?: Power;
  /** Whether the caller must have signed in recently; see docs/reference/sign-in-api.md. */
  readonly fresh?: true;
  /** Whether polling it does not count as activity of a session. */
  readonly background?: true;
  /** Whether an `Idempotency-Key` header is accepted. */
  readonly idempotencyKey?: "optional";
  /** Query parameters; an operation without it has none. `"any"`: decided by another party. */
  readonly query?: v.GenericSchema<Record<string, unknown>, object> | "any";
  readonly body?: Schema;
  /** The longest body in bytes, where it is below the operator's limit. */
  readonly bodyBytesMax?: number;
  readonly answers: Readonly<Partial<Record<AnswerStatus, Schema | StreamAnswer | null>>>;
  /** Codes that this operation adds to those that every operation can answer. */
  readonly errors: readonly ProblemCode[];
}

/** Checks a row of the table and keeps its exact types. */
export function operation<const Row extends Operation>(row: Row): Row {
  return row;
}

type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

/** The parameters in the path of an operation. */
export type PathOf<Row extends Operation> = {
  readonly [Name in ParameterNames<Row["path"]>]: string;
};

type InputOf<S> = S extends Schema ? v.InferInput<S> : undefined;
type OutputOf<S> = S extends Schema ? v.InferOutput<S> : undefined;

/** The body as a client sends it. */
export type BodySent<Row extends Operation> = Row extends { readonly body: infer S }
  ? InputOf<S>
  : undefined;

/** The body as a handler receives it: checked, durations in milliseconds. */
export type BodyReceived<Row extends Operation> = Row extends { readonly body: infer S }
  ? OutputOf<S>
  : undefined;

/** The query as a client sends it. */
export type QuerySent<Row extends Operation> = Row extends { readonly query: infer S }
  ? S extends Schema
    ? v.InferInput<S>
    : Readonly<Record<string, string>>
  : undefined;

/** The query as a handler receives it. */
export type QueryReceived<Row extends Operation> = Row extends { readonly query: infer S }
  ? S extends Schema
    ? v.InferOutput<S>
    : Readonly<Record<string, unknown>>
  : undefined;

type AnswerIn<Answer> = Answer extends Schema
  ? v.InferOutput<Answer>
  : Answer extends StreamAnswer
    ? StreamAnswer
    : undefined;

/** A line of an answer that consists of lines of JSON. */
export type LineOf<Row extends Operation> = Row["answers"][keyof Row["answers"]] extends {
  readonly line: infer Line;
}
  ? OutputOf<Line>
  : never;

/** The answer that a client reads, for any status. */
export type AnswerOf<Row extends Operation> = {
  [Status in keyof Row["answers"]]: AnswerIn<Row["answers"][Status]>;
}[keyof Row["answers"]];

/** A handler's answer: the body, or the status and the body where there are several. */
export type Answered<Row extends Operation> = keyof Row["answers"] extends infer Status
  ? IsUnion<Status> extends true
    ? {
        [Code in keyof Row["answers"]]: {
          readonly status: Code;
          readonly body: Writable<AnswerIn<Row["answers"][Code]>>;
        };
      }[keyof Row["answers"]]
    : Writable<AnswerOf<Row>>
  : never;

type IsUnion<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? false : true) : never;

export type { ExactObject };
