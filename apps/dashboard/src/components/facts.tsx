import type { ComponentChildren } from "preact";
import "./facts.css";

interface FactsProps {
  /** The names and values. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Whether the list has room for long values, such as ids. */
  readonly isWide?: boolean;
}

/** A list of names and values that describe one thing. */
export function Facts({ facts, isWide = false }: FactsProps) {
  return (
    <dl class={isWide ? "facts facts-wide" : "facts"}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span class="muted">none</span>}</dd>
        </div>
      ))}
    </dl>
  );
}
