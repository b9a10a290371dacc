import type { Answered } from "./attempt.ts";

/** A call that has begun: a promise of what it gives, or of that with the answer it came in. */
export class Call<Data> implements Promise<Data> {
  readonly #answered: Promise<Answered<Data>>;
  declare readonly [Symbol.toStringTag]: string;

  /** @internal */
  constructor(answered: Promise<Answered<Data>>) {
    this.#answered = answered;
  }

  /** The same with its answer: status, headers, `Request-Id`, attempts. */
  withResponse(): Promise<Answered<Data>> {
    return this.#answered;
  }

  /** As of any promise: await it. */
  // It can be awaited, raced and handed on.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Result = Data, Failure = never>(
    onDone?: ((data: Data) => Result | PromiseLike<Result>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#answered.then(({ data }) => data).then(onDone, onFailed);
  }

  /** As of any promise. */
  catch<Failure = never>(onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null) {
    return this.then(undefined, onFailed);
  }

  /** As of any promise. */
  finally(onSettled?: (() => void) | null): Promise<Data> {
    return this.then(undefined).finally(onSettled);
  }
}
