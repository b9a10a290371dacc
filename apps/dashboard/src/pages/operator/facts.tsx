import type { ComponentChildren } from "preact";
import "./operator.css";

interface FactsProps {
  /** Each a name and what holds. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}

/** What is known of one thing. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts card">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span class="muted">none</span>}</dd>
        </div>
      ))}
    </dl>
  );
}
