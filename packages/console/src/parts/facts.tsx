import type { ComponentChildren } from "preact";

/** Names and what stands for them; those that are undefined are left out. */
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
