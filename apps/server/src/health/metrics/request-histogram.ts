/** What an exemplar leads to. */
interface Observed {
  /** The Request-Id. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface Exemplar extends Observed {
  readonly value: number;
}

/** A histogram without a library: prom-client looks its series up by a text of all labels at each request. */
export class RequestHistogram {
  readonly #bounds: readonly number[];
  /** Of each bucket, what falls into it and not into the one before; the last one has no bound. */
  readonly #counts: number[];
  readonly #exemplars: (Exemplar | undefined)[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.#exemplars = this.#counts.map(() => undefined);
  }

  observe(value: number, { id, at }: Observed): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#exemplars[index] = { id, value, at };
    this.#sum += value;
  }

  /** @param labels as the format has them, without braces */
  lines(name: string, labels: string, withExemplars: boolean): string[] {
    let total = 0;
    const separator = labels === "" ? "" : ",";
    const buckets = this.#counts.map((count, index) => {
      total += count;
      const bound = this.#bounds[index] ?? "+Inf";
      const line = `${name}_bucket{${labels}${separator}le="${bound}"} ${total}`;
      const exemplar = withExemplars ? this.#exemplars[index] : undefined;
      if (exemplar === undefined) return line;
      return `${line} # {request_id="${exemplar.id}"} ${exemplar.value} ${exemplar.at / 1_000}`;
    });
    const braces = labels === "" ? "" : `{${labels}}`;
    return [...buckets, `${name}_sum${braces} ${this.#sum}`, `${name}_count${braces} ${total}`];
  }
}
