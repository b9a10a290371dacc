/** What the check of feeds says, and the forms that mend what it finds. */
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { useUrlState } from "../../layout/url-state.ts";

/** The system's own feeds, as an address names them: not at all. */
export const OWN = "";

/** Returns the result of checking the system's own feeds, or those of a source. */
export function useFeedQuality(systemId: string | undefined, source: string) {
  const query = source === OWN ? {} : { source };
  return useQuery({
    queryKey: ["feed-quality", systemId, source],
    queryFn: ({ signal }) => api.feedQuality.check({ params: { system_id: systemId ?? "" }, query, signal }),
    enabled: systemId !== undefined,
    refetchOnWindowFocus: false,
  });
}

/** The forms of the page System, by the GBFS names that they set. The first that matches counts. */
const views: readonly (readonly [names: RegExp, view: string, label: string])[] = [
  [/rental_uris|rental_apps|store_uri/, "facts", "Apps and links"],
  [/default_pricing_plan_id|return_constraint|max_range_meters|vehicle_types/, "types", "Vehicle types"],
  [/pricing_plan/, "plans", "Pricing plans"],
  [/geofencing_zones/, "zones", "Zones"],
  [/region/, "regions", "Regions"],
  [/system_information|licen[cs]e/, "facts", "Facts"],
];

export interface Place {
  readonly path: string;
  readonly view?: string;
  readonly label: string;
}

/** Returns where the operator changes what a text with GBFS names is about; undefined: the backend reports it. */
export function placeOf(text: string): Place | undefined {
  if (text.includes("system_alerts")) return { path: "/operator/alerts", label: "Alerts" };
  const found = views.find(([names]) => names.test(text));
  return found && { path: "/operator/systems", view: found[1], label: found[2] };
}

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
