import { Counter, type Registry } from "prom-client";

/**
 * Adds a counter with one label. The label's values must be few and known, because each is a series. All series begin at
 * zero: otherwise a rate or an alert on growth would miss the first event of each kind.
 */
export function countBy<Value extends string | number>(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  values: readonly Value[],
): (value: Value) => void {
  const counter = new Counter({ name: `bikeshare_${name}`, help, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value) => counter.inc({ [label]: value });
}
