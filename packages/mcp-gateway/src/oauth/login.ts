/**
 * A login in the browser of the user: authorization code with PKCE, and a redirect to a port of
 * this machine.
 *
 * @see https://datatracker.ietf.org/doc/html/rfc8252
 */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AuthorizationServer,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
} from "oauth4webapi";
import { OauthClient, type Protection, type RegisteredClient } from "./client.ts";
import { isProtectedUrl } from "./config.ts";
import { OauthError } from "./discovery.ts";
import { LoginFile } from "./login-file.ts";
import type { ProtectedServer } from "./server-access.ts";

const LOGIN_MS_MAX = 10 * 60_000;

/**
 * Stores the login.
 *
 * @param show receives the URL that the user must open
 * @throws OauthError
 */
export async function logIn(
  server: ProtectedServer,
  stateFolder: string,
  show: (url: string) => void,
): Promise<void> {
  const client = new OauthClient(server.url, server.oauth);
  const protection = await client.findProtection();
  const { authorization } = protection;
  assertPkce(authorization);
  const listener = createServer();
  try {
    const uri = await listen(listener, server.oauth.redirectPort);
    const registered = await client.register(authorization, uri);
    const state = generateRandomState();
    const verifier = generateRandomCodeVerifier();
    const url = await authorizationUrl(protection, registered, {
      redirect_uri: uri,
      scope: client.scopesFor(protection).join(" "),
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
    });
    const answered = receiveCallback(listener, state);
    show(url);
    const answer = await answered;
    const callback = client.checkCallback(authorization, registered, answer, state);
    const redirect = { callback, uri, verifier };
    const login = await client.redeemCode(protection, registered, redirect);
    const file = new LoginFile(stateFolder, server.name);
    await file.locked(() => file.write(login));
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

function assertPkce({ issuer, code_challenge_methods_supported: methods }: AuthorizationServer) {
  if (methods?.includes("S256") === true) return;
  throw new OauthError(`${issuer} does not support PKCE with S256.`);
}

async function authorizationUrl(
  { authorization, resource }: Protection,
  { id }: RegisteredClient,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const { authorization_endpoint: endpoint = "", issuer } = authorization;
  if (!isProtectedUrl(endpoint)) {
    throw new OauthError(`${issuer} has no authorization endpoint with https.`);
  }
  const url = new URL(endpoint);
  const all = {
    response_type: "code",
    client_id: id,
    code_challenge_method: "S256",
    resource,
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) {
    if (value !== "") url.searchParams.set(name, value);
  }
  return url.href;
}

async function listen(listener: Server, port: number): Promise<string> {
  listener.listen(port, "127.0.0.1");
  try {
    await once(listener, "listening");
  } catch {
    throw new OauthError(`Cannot listen on port ${port}. Change oauth.redirect_port.`);
  }
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
}

/** Waits for the redirect with this state. Other requests do not end the login. */
async function receiveCallback(listener: Server, state: string): Promise<URLSearchParams> {
  const received = Promise.withResolvers<URLSearchParams>();
  listener.on("request", (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
    const isOurs = pathname === "/callback" && searchParams.get("state") === state;
    response.setHeader("content-type", "text/plain; charset=utf-8");
    response.setHeader("connection", "close");
    response.statusCode = isOurs ? 200 : 400;
    response.end(isOurs ? "Return to the terminal." : "This is not the current login.");
    if (isOurs) response.on("close", () => received.resolve(searchParams));
  });
  const timer = setTimeout(() => {
    received.reject(new OauthError("The login was not completed within 10 minutes."));
  }, LOGIN_MS_MAX);
  try {
    return await received.promise;
  } finally {
    clearTimeout(timer);
  }
}
