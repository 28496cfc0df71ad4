import type { ComponentChildren } from "preact";

/** Names and values. Undefined values are omitted. */
export type Facts = readonly (readonly [name: string, value: ComponentChildren])[];

/** Facts about one object: in columns, and stacked on a phone. */
export function FactList({ facts }: { readonly facts: Facts }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
