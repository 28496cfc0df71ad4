// Tier: slow
// Needs: go-tools
/**
 * The Ingress and the HTTPRoute of the chart let every route of the server through, except those
 * for the cluster only, and no timeout ends long polls and streams.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { parseDuration } from "@countersign/protocol";
import { type Route, routesOf } from "../../packages/server/test/support/routes.ts";
import { startTestProvider } from "../../packages/server/test/support/test-provider.ts";
import { allOfKind, type KubernetesObject, ofKind } from "./objects.ts";
import { guideBlock, render } from "./render.ts";

/** The entrance of the cluster returns an error. */
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

function ingressRules(objects: readonly KubernetesObject[]): Rule[] {
  const { metadata, spec } = ofKind(objects, "Ingress");
  const timeout = metadata.annotations?.["nginx.ingress.kubernetes.io/proxy-read-timeout"];
  const paths = spec.rules.flatMap(({ http }) => http.paths);
  return paths.map(({ path, pathType, backend }) => ({
    path,
    isExact: pathType === "Exact",
    method: undefined,
    service: backend.service.name,
    timeoutS: Number(timeout),
  }));
}

const NO_LIMIT = "0s";

function secondsOf(duration: string): number {
  return (parseDuration(duration) ?? Number.NaN) / 1000;
}

function httpRouteRules(objects: readonly KubernetesObject[]): Rule[] {
  const { spec } = ofKind(objects, "HTTPRoute");
  return spec.rules.flatMap(({ matches, timeouts, backendRefs }) =>
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

/** Pods that a service of the rendered objects selects. */
function isServer(objects: readonly KubernetesObject[], name: string | undefined): boolean {
  const service = allOfKind(objects, "Service").find(({ metadata }) => metadata.name === name);
  return service?.spec.selector !== undefined;
}

const ENTRANCES = {
  Ingress: {
    values: "ingress.yaml",
    read: ingressRules,
    hostOf: (objects: readonly KubernetesObject[]) =>
      ofKind(objects, "Ingress").spec.rules[0]?.host,
  },
  HTTPRoute: {
    values: "gateway.yaml",
    read: httpRouteRules,
    hostOf: (objects: readonly KubernetesObject[]) =>
      ofKind(objects, "HTTPRoute").spec.hostnames[0],
  },
};

for (const [name, { values, read, hostOf }] of Object.entries(ENTRANCES)) {
  const rendered = () => render([guideBlock("values.yaml"), guideBlock(values)]);

  test(`[ours.deploy.proxies] ${name}: every route reaches the server, except metrics and readiness`, async (t) => {
    const objects = rendered();
    const rules = read(objects);
    const routes = await serverRoutes(t);
    const kept = routes.filter((route) => !isServer(objects, ruleFor(rules, route).service));
    assert.deepEqual(kept.map(({ path }) => path).sort(), INSIDE);
  });

  test(`[ours.deploy.proxies] ${name}: long polls and streams outlast the server's own limits`, async (t) => {
    const rules = read(rendered());
    const long = [...STREAMS, "getApprovalRequest"];
    for (const route of await serverRoutes(t)) {
      if (!long.includes(route.operation)) continue;
      const { timeoutS } = ruleFor(rules, route);
      assert.ok(timeoutS > SILENCE_S, `${route.path}: ${timeoutS} s`);
    }
  });

  test(`[ours.deploy.chart] ${name}: the host is that of public_url`, () => {
    assert.equal(hostOf(rendered()), "approvals.example.com");
  });
}
