/**
 * People with passkeys, through the routes that browsers use.
 */

import assert from "node:assert/strict";
import { Authenticator, type Bent, type CredentialJson } from "./authenticator.ts";
import { callAs, newPerson, type PersonOrder, type SignedInPerson } from "./people.ts";
import type { Answer, ReviewedRequest, TestProvider } from "./test-provider.ts";

export interface Signer extends SignedInPerson {
  readonly authenticator: Authenticator;
}

interface Started {
  readonly options: { readonly challenge: string };
}

export interface Challenge extends Started {
  readonly nonce: string;
}

/** The fields of a verdict, besides that it approves. */
export type Said = Readonly<Record<string, unknown>>;

/** A user who signed in just now and has one passkey. */
export async function newSigner(
  server: TestProvider,
  order: PersonOrder,
  authenticator = new Authenticator(server.provider.publicUrl),
): Promise<Signer> {
  const person = await newPerson(server, order);
  const added = await addPasskey(server, person, authenticator);
  assert.equal(added.status, 201, added.text);
  return { ...person, authenticator };
}

export async function addPasskey<T = { id: string; name: string }>(
  server: TestProvider,
  person: SignedInPerson,
  authenticator: Authenticator,
  { name, bent }: { readonly name?: string; readonly bent?: Bent } = {},
): Promise<Answer<T>> {
  const path = "/account/passkeys";
  const started = await callAs<Started>(server, person, "POST", `${path}/options`);
  if (started.status !== 200) return started as unknown as Answer<T>;
  const answer = authenticator.create(started.json.options.challenge, bent);
  return callAs<T>(server, person, "POST", path, { body: { name, answer } });
}

export async function signIn(
  server: TestProvider,
  authenticator: Authenticator,
  bent?: Bent,
): Promise<Answer> {
  const path = "/session/passkey";
  const started = await callAs<Started>(server, undefined, "POST", `${path}/options`);
  assert.equal(started.status, 200, started.text);
  const answer = authenticator.get(started.json.options.challenge, bent);
  return callAs(server, undefined, "POST", path, { body: { answer } });
}

/** The verdict as a page would send it, with the digest of what is stored. */
export async function toVerdict(
  server: TestProvider,
  person: SignedInPerson,
  id: string,
  said: Said = {},
): Promise<Said> {
  const shown = await callAs<ReviewedRequest>(server, person, "GET", `/requests/${id}`);
  return { verdict: "approve", arguments_sha256: shown.json.arguments_sha256, ...said };
}

export function challenge<T = Challenge>(
  server: TestProvider,
  person: SignedInPerson,
  id: string,
  verdict: Said,
): Promise<Answer<T>> {
  const path = `/requests/${id}/verdict/challenge`;
  return callAs<T>(server, person, "POST", path, { body: verdict });
}

export interface Signed {
  readonly nonce: string;
  readonly assertion: CredentialJson;
}

/** The assertion of the person's passkey for a challenge for this verdict. */
export async function sign(
  server: TestProvider,
  person: Signer,
  id: string,
  verdict: Said,
  bent?: Bent,
): Promise<Signed> {
  const { status, text, json } = await challenge(server, person, id, verdict);
  assert.equal(status, 200, text);
  const { nonce, options } = json;
  return { nonce, assertion: person.authenticator.get(options.challenge, bent) };
}

export function send<T = ReviewedRequest>(
  server: TestProvider,
  person: SignedInPerson,
  id: string,
  body: Said,
): Promise<Answer<T>> {
  return callAs<T>(server, person, "POST", `/requests/${id}/verdict`, { body });
}

/** Everything that was started has expired now, and the server has not purged it yet. */
export async function endTime({ provider: { context } }: TestProvider): Promise<void> {
  const { store, clock } = context;
  const sql = "update ceremony set expires_at = $1";
  await store.transact((tx) => tx.run(sql, [clock.now()]));
}

/** Signs and sends an approval. */
export async function approve(
  server: TestProvider,
  person: Signer,
  id: string,
  said?: Said,
): Promise<Answer<ReviewedRequest>> {
  const verdict = await toVerdict(server, person, id, said);
  const passkey = await sign(server, person, id, verdict);
  return send(server, person, id, { ...verdict, passkey });
}
