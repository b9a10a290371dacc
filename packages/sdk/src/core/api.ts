import { type CallOptions, type ClientOptions, type CreateOptions, readOptions } from "../options.ts";
import type { ListEnvelope } from "../wire.generated.ts";
import type { Query } from "./address.ts";
import type { Answered } from "./attempt.ts";
import { Call } from "./call.ts";
import { createList, type List } from "./list.ts";
import type { Place } from "./place.ts";
import type { Route } from "./route.ts";
import { send, type Wanted } from "./send.ts";

/** What the resources are made on. */
export interface Api {
  /** Begins a call. `Data` is what the contract says that the route answers with. */
  call<Data extends object>(wanted: Wanted, options: CreateOptions | undefined): Call<Data>;
  /**
   * A list; nothing is sent yet.
   *
   * @param goesOnBehind whether the list can go on behind an item's id, by its parameter `after`
   */
  list<Item extends { readonly id: string }>(
    route: Route,
    query: object | undefined,
    options: CallOptions | undefined,
    goesOnBehind?: boolean,
  ): List<Item>;
}

/** @throws UsageError that names a wrong option */
export function createApi(clientOptions: ClientOptions): Api {
  const settings = readOptions(clientOptions);
  // What is in an answer is the service's word: types cannot check it, `validate` can.
  const ask = <Data>(wanted: Wanted, options: CreateOptions | undefined) =>
    send(settings, wanted, options) as Promise<Answered<unknown>> as Promise<Answered<Data>>;
  return {
    call: (wanted, options) => new Call(ask(wanted, options)),
    list: <Item extends { readonly id: string }>(
      route: Route,
      query: object = {},
      options?: CallOptions,
      goesOnBehind?: boolean,
    ) => {
      // What is left when the place is taken out are filters: they stay the same over all pages.
      const { cursor, page, ...filters } = query as Query & Place; // The contract's parameters are texts and numbers.
      const { limit, after } = filters;
      const askPage = (asked: Query) => ask<ListEnvelope<Item>>({ route, query: asked }, options);
      const behind = goesOnBehind ? String(after ?? "") : undefined;
      return createList(route[0], askPage, filters, options?.signal, { cursor, page, limit }, behind);
    },
  };
}
