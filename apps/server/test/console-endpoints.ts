import type { ConsoleNeeds, EndpointMetadata } from "@bikeshare/contract";
import { consoleContract } from "@bikeshare/contract/console";
import type { AppRoute, AppRouter } from "@ts-rest/core";

/** An endpoint of the dashboard's API, with what a test needs to call it. */
export interface ConsoleEndpoint {
  /** Noun and verb: `session.get`. */
  readonly name: string;
  readonly method: string;
  /** The path, with parameters as `:name`. */
  readonly path: string;
  readonly needs: ConsoleNeeds;
  readonly statuses: readonly number[];
}

/** Every endpoint of the dashboard's API, from its contract. */
export const consoleEndpoints: readonly ConsoleEndpoint[] = endpointsOf(consoleContract);

function endpointsOf(router: AppRouter, parents: readonly string[] = []): ConsoleEndpoint[] {
  return Object.entries(router).flatMap(([key, entry]) => {
    const names = [...parents, key];
    if (!isRoute(entry)) return endpointsOf(entry, names);
    const { console: needs } = entry.metadata as EndpointMetadata;
    if (needs === undefined) throw new Error(`${names.join(".")} does not say whom it lets in`);
    const statuses = Object.keys(entry.responses).map(Number);
    return [{ name: names.join("."), method: entry.method, path: entry.path, needs, statuses }];
  });
}

function isRoute(entry: AppRoute | AppRouter): entry is AppRoute {
  return typeof entry.method === "string" && typeof entry.path === "string";
}
