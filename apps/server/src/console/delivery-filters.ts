import type { DeliveryFilters } from "@bikeshare/contract/console";
import { type DeliveryFilter, readCodeFilter } from "../webhooks/log/delivery-filter.rules.ts";
import { dateOf } from "./dates.ts";

/** The filter that the parameters of a page stand for. */
export function filterOf({
  status,
  event,
  code,
  failure,
  resource_id: resourceId,
  since,
  until,
}: DeliveryFilters): DeliveryFilter {
  return {
    ...{ status, event, failure, resourceId },
    code: code === undefined ? undefined : readCodeFilter(code),
    since: dateOf(since),
    until: dateOf(until),
  };
}
