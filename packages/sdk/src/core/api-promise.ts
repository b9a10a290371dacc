import type { ApiResponse } from "./attempt.ts";

/** A started call: a promise of its data. `withResponse()` returns the data together with the response. */
export class ApiPromise<Data> implements Promise<Data> {
  readonly #response: Promise<ApiResponse<Data>>;
  // Only the type `Promise` requires it. It is never set.
  declare readonly [Symbol.toStringTag]: string;

  /** @internal */
  constructor(response: Promise<ApiResponse<Data>>) {
    this.#response = response;
  }

  /** Returns the result with its response: status, headers, `Request-Id`, attempts. */
  withResponse(): Promise<ApiResponse<Data>> {
    return this.#response;
  }

  /** Works as `then` of any promise, with the data. */
  // oxlint-disable-next-line unicorn/no-thenable -- it can be awaited, raced and passed on
  then<Result = Data, Failure = never>(
    onFulfilled?: ((data: Data) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#response.then(({ data }) => data).then(onFulfilled, onRejected);
  }

  /** Works as `catch` of any promise. */
  catch<Failure = never>(onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null) {
    return this.then(undefined, onRejected);
  }

  /** Works as `finally` of any promise. */
  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then(undefined).finally(onFinally);
  }
}
