import type { ListEnvelope } from "../json-types.generated.ts";
import { type ClientOptions, type IdempotentRequestOptions, readOptions, type RequestOptions } from "../options.ts";
import { ApiPromise } from "./api-promise.ts";
import type { ApiResponse } from "./attempt.ts";
import type { Position } from "./list-iterator.ts";
import { createList, type List } from "./list.ts";
import type { ApiRequest, Query, Route } from "./request.ts";
import { send } from "./send.ts";

/** The interface through which the resources call the service. */
export type Api = ReturnType<typeof createApi>;

/** @throws UsageError that names a wrong option */
export function createApi(clientOptions: ClientOptions) {
  const settings = readOptions(clientOptions);
  // The type of the data is only asserted. The option `validate` can check it.
  const request = <Data>(apiRequest: ApiRequest, options: IdempotentRequestOptions | undefined) =>
    send(settings, apiRequest, options) as Promise<ApiResponse<unknown>> as Promise<ApiResponse<Data>>;
  return {
    /** Starts a call. `Data` is the route's response by the contract. */
    call: <Data extends object>(apiRequest: ApiRequest, options: IdempotentRequestOptions | undefined) =>
      new ApiPromise(request<Data>(apiRequest, options)),
    /**
     * Returns a list, without sending a request yet.
     *
     * @param isResumedById whether the list is resumed after an item's id, by its parameter `after`
     * @param start where the list begins. Default: where the query says
     */
    list<Item extends { readonly id: string }>(
      route: Route,
      query: object = {},
      options?: RequestOptions,
      isResumedById?: boolean,
      start?: Position,
    ): List<Item> {
      // Everything but `cursor` and `page` is sent with each page. `limit` is also part of a numbered position, because a
      // page number depends on it.
      const { cursor, page, ...filters } = query as Query & Position; // The contract's parameters are strings or numbers.
      const { limit, after } = filters;
      // "": from the first item. Undefined: the list is not resumed by an id.
      const resumedAfter = isResumedById ? String(after ?? "") : undefined;
      const source = {
        operation: route[0], // Method and path.
        request: (asked: Query) => request<ListEnvelope<Item>>({ route, query: asked }, options),
        filters,
        signal: options?.signal,
      };
      return createList(source, start ?? { cursor, page, limit }, resumedAfter);
    },
  };
}
