import type { ComponentChildren } from "preact";

interface ExampleProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** One component, and its states below each other. */
export function Example({ name, children }: ExampleProps) {
  return (
    <section class="card stack">
      <h2>{name}</h2>
      {children}
    </section>
  );
}
