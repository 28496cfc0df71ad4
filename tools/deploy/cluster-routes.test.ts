/**
 * The examples of Ingress and HTTPRoute let every route of the server through, except those for the
 * cluster alone, and leave time for long polls and streams.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseDuration } from "@countersign/protocol";
import { parseAllDocuments } from "yaml";
import { type Route, routesOf } from "../../packages/server/test/support/routes.ts";
import { startTestProvider } from "../../packages/server/test/support/test-provider.ts";

const KUBERNETES = join(import.meta.dirname, "../../deploy/kubernetes");

/** Answered with an error by the cluster's entrance. */
const INSIDE = ["/metrics", "/readyz"];

/** Operations with responses that are streams. */
const STREAMS = [
  "followEvents",
  "exportHistory",
  "exportAuditLog",
  "verifyAuditLog",
  "simulatePolicy",
  "simulateFloor",
];

/** The server cuts a connection without a byte in either direction after this time. */
const SILENCE_S = 60;

interface Rule {
  readonly path: string;
  readonly isExact: boolean;
  /** All of them where it is undefined. */
  readonly method: string | undefined;
  readonly service: string | undefined;
  readonly timeoutS: number;
}

function documents<T>(name: string): T[] {
  const text = readFileSync(join(KUBERNETES, name), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as T);
}

interface Ingress {
  readonly kind: string;
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly rules: readonly {
      readonly http: {
        readonly paths: readonly {
          readonly path: string;
          readonly pathType: string;
          readonly backend: { readonly service: { readonly name: string } };
        }[];
      };
    }[];
  };
}

function ingressRules(): Rule[] {
  const ingresses = documents<Ingress>("ingress.example.yaml");
  return ingresses
    .filter(({ kind }) => kind === "Ingress")
    .flatMap(({ metadata, spec }) => {
      const timeout = metadata.annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"];
      const paths = spec.rules.flatMap(({ http }) => http.paths);
      return paths.map(({ path, pathType, backend }) => ({
        path,
        isExact: pathType === "Exact",
        method: undefined,
        service: backend.service.name,
        timeoutS: Number(timeout),
      }));
    });
}

const NO_LIMIT = "0s";

function secondsOf(duration: string): number {
  return (parseDuration(duration) ?? Number.NaN) / 1000;
}

interface HttpRoute {
  readonly spec: {
    readonly rules: readonly {
      readonly matches: readonly {
        readonly path: { readonly type: string; readonly value: string };
        readonly method?: string;
      }[];
      readonly timeouts?: { readonly request: string };
      readonly backendRefs?: readonly { readonly name: string }[];
    }[];
  };
}

function httpRouteRules(): Rule[] {
  const rules = documents<HttpRoute>("http-route.example.yaml").flatMap(({ spec }) => spec.rules);
  return rules.flatMap(({ matches, timeouts, backendRefs }) =>
    matches.map(({ path, method }) => {
      const request = timeouts?.request ?? NO_LIMIT;
      return {
        path: path.value,
        isExact: path.type === "Exact",
        method,
        service: backendRefs?.[0]?.name,
        timeoutS: request === NO_LIMIT ? Number.POSITIVE_INFINITY : secondsOf(request),
      };
    }),
  );
}

function matches({ path, isExact, method }: Rule, route: Route): boolean {
  if (method !== undefined && method !== route.method) return false;
  if (isExact) return route.path === path;
  return path === "/" || route.path === path || route.path.startsWith(`${path}/`);
}

/** An exact path goes first, then the longest one, then the one with a method. */
function rank({ path, isExact, method }: Rule): number {
  return (isExact ? 1_000_000 : 0) + 10 * path.length + (method === undefined ? 0 : 1);
}

function ruleFor(rules: readonly Rule[], route: Route): Rule {
  const [first] = rules.filter((rule) => matches(rule, route)).sort((a, b) => rank(b) - rank(a));
  assert.ok(first, `nothing routes ${route.method} ${route.path}`);
  return first;
}

async function serverRoutes(t: TestContext): Promise<readonly Route[]> {
  const routes = await routesOf(await startTestProvider(t));
  for (const operation of STREAMS) {
    assert.ok(
      routes.some((route) => route.operation === operation),
      operation,
    );
  }
  return routes;
}

const ENTRANCES = { Ingress: ingressRules, HTTPRoute: httpRouteRules };

for (const [name, read] of Object.entries(ENTRANCES)) {
  test(`[ours.deploy.proxies] ${name}: every route reaches the server, except metrics and readiness`, async (t) => {
    const rules = read();
    const routes = await serverRoutes(t);
    const kept = routes.filter((route) => ruleFor(rules, route).service !== "countersign");
    assert.deepEqual(kept.map(({ path }) => path).sort(), INSIDE);
  });

  test(`[ours.deploy.proxies] ${name}: long polls and streams outlast the server's own limits`, async (t) => {
    const rules = read();
    const long = [...STREAMS, "getApprovalRequest"];
    for (const route of await serverRoutes(t)) {
      const { timeoutS, service } = ruleFor(rules, route);
      if (service !== "countersign" || !long.includes(route.operation)) continue;
      assert.ok(timeoutS > SILENCE_S, `${route.path}: ${timeoutS} s`);
    }
  });
}
