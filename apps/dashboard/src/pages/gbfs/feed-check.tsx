/** Reads the results of checking feeds, and finds the form that fixes a problem. */
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { useUrlState } from "../../layout/url-state.ts";

/** The value of the `source` parameter for the system's own feeds. */
export const OWN = "";

/** Returns the result of checking the system's own feeds, or the feeds of a source. */
export function useFeedQuality(systemId: string | undefined, source: string) {
  const query = source === OWN ? {} : { source };
  return useQuery({
    queryKey: ["feed-quality", systemId, source],
    queryFn: ({ signal }) => api.feedQuality.check({ params: { system_id: systemId ?? "" }, query, signal }),
    enabled: systemId !== undefined,
    refetchOnWindowFocus: false,
  });
}

/** The views of the page "System", by the GBFS names that their forms set. The first match is used. */
const views: readonly (readonly [names: RegExp, view: string, label: string])[] = [
  [/rental_uris|rental_apps|store_uri/, "facts", "Apps and links"],
  [/default_pricing_plan_id|return_constraint|max_range_meters|vehicle_types/, "types", "Vehicle types"],
  [/pricing_plan/, "plans", "Pricing plans"],
  [/geofencing_zones/, "zones", "Zones"],
  [/region/, "regions", "Regions"],
  [/system_information|licen[cs]e/, "facts", "Facts"],
];

/** A page where a problem of a feed can be fixed. */
export interface Place {
  readonly path: string;
  /** The tab of the page "System". Undefined: another page, which has no tabs. */
  readonly view?: string;
  readonly label: string;
}

/**
 * Returns the page with the form for the first GBFS name that is found in a text, such as the text of a problem. Undefined:
 * no form sets it, because the operator's backend reports it.
 */
export function placeOf(text: string): Place | undefined {
  if (text.includes("system_alerts")) return { path: "/operator/alerts", label: "Alerts" };
  const found = views.find(([names]) => names.test(text));
  return found && { path: "/operator/systems", view: found[1], label: found[2] };
}

/** A link to the page where a problem can be fixed. */
export function PlaceLink({
  place: { path, view, label },
  text = label,
}: {
  readonly place: Place;
  readonly text?: string;
}) {
  const url = useUrlState();
  return <Link href={url.link(path, view === undefined ? {} : { view })}>{text}</Link>;
}
