/**
 * Objects of Kubernetes, with the fields that the tests read. kubeconform validates the whole
 * objects.
 */

import { parseAllDocuments } from "yaml";

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels: Labels;
}

interface Probe {
  readonly httpGet: { readonly path: string };
}

export interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly securityContext: object;
}

export interface Pod {
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: {
    readonly runAsNonRoot: boolean;
    readonly fsGroup: number;
    readonly seccompProfile: { readonly type: string };
  };
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string };
  }[];
}

/** A path of an Ingress. */
export interface IngressPath {
  readonly path: string;
  readonly pathType: string;
  readonly backend: { readonly service: { readonly name: string } };
}

export interface HttpRouteRule {
  readonly matches: readonly {
    readonly path: { readonly type: string; readonly value: string };
    readonly method?: string;
  }[];
  readonly timeouts?: { readonly request: string };
  readonly backendRefs?: readonly { readonly name: string }[];
}

/** The field `spec` by kind. */
interface Specs {
  readonly CronJob: {
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: Pod } } };
  };
  readonly Deployment: {
    /** Absent with autoscaling. */
    readonly replicas?: number;
    readonly strategy: { readonly type: string };
    readonly selector: Selector;
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
  };
  readonly HorizontalPodAutoscaler: { readonly scaleTargetRef: { readonly name: string } };
  readonly HTTPRoute: {
    readonly hostnames: readonly string[];
    readonly rules: readonly HttpRouteRule[];
  };
  readonly Ingress: {
    readonly rules: readonly {
      readonly host: string;
      readonly http: { readonly paths: readonly IngressPath[] };
    }[];
  };
  readonly NetworkPolicy: { readonly podSelector: Selector };
  readonly PersistentVolumeClaim: object;
  readonly PodDisruptionBudget: { readonly selector: Selector };
  readonly PrometheusRule: {
    readonly groups: readonly { readonly rules: readonly object[] }[];
  };
  /** A service without a selector has no pods: requests to it return an error. */
  readonly Service: { readonly selector?: Labels };
  readonly ServiceAccount: undefined;
  readonly ServiceMonitor: { readonly selector: Selector; readonly jobLabel: string };
}

export type Kind = keyof Specs;

export interface ObjectOf<K extends Kind> {
  readonly kind: K;
  readonly metadata: {
    readonly name: string;
    readonly labels: Labels;
    readonly annotations?: Labels;
  };
  readonly spec: Specs[K];
}

export type KubernetesObject = { readonly [K in Kind]: ObjectOf<K> }[Kind];

export function parseObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

export function allOfKind<K extends Kind>(
  objects: readonly KubernetesObject[],
  kind: K,
): ObjectOf<K>[] {
  const ofAnyKind: readonly ObjectOf<Kind>[] = objects;
  return ofAnyKind.filter((object): object is ObjectOf<K> => object.kind === kind);
}

/** @throws Error unless exactly one object has the kind */
export function ofKind<K extends Kind>(objects: readonly KubernetesObject[], kind: K): ObjectOf<K> {
  const [found, ...others] = allOfKind(objects, kind);
  if (found === undefined || others.length > 0) throw new Error(`not one ${kind}`);
  return found;
}
