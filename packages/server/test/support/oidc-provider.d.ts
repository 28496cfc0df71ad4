/**
 * As much of `oidc-provider` as the tests use: its own types would bring those of Koa along.
 */

declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export interface Context {
    readonly path: string;
    readonly oidc: {
      readonly client: { readonly clientId: string };
      readonly session: { readonly accountId: string };
      readonly params: Readonly<Record<string, unknown>>;
    };
    body: unknown;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (
      fields: object,
    ) => GrantOf;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ): Promise<void>;
    on(event: string, listener: (...details: unknown[]) => void): void;
  }

  interface GrantOf {
    addOIDCScope(scope: string): void;
    addOIDCClaims(claims: readonly string[]): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }
}
