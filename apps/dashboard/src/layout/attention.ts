/** Counts the problems that need attention, by the page on which they are fixed. */
import type { Membership, ShownCheck } from "@bikeshare/contract/console";
import { api } from "../api/api.ts";
import { useQuery } from "../api/queries.ts";

/** Milliseconds between two reads. The overview itself reads more often. */
const REFRESH_INTERVAL_MS = 60_000;

/**
 * Maps the page that a check names to the page in the operator's navigation. Example: the operator has no page of all
 * deliveries, so the endpoints show these problems.
 */
const PAGES: Readonly<Record<string, string>> = { webhook: "endpoints", deliveries: "endpoints" };

/**
 * Returns the number of problems by the page on which they are fixed, such as `endpoints`. Leaves out acknowledged problems
 * and mere information. Empty until the problems are read.
 */
export function useAttention({ system_id, partner_id }: Membership): ReadonlyMap<string, number> {
  const { data } = useQuery({
    queryKey: ["attention", system_id, partner_id],
    queryFn: async ({ signal }) => {
      const { checks } =
        partner_id === null
          ? await api.systemOverview.get({ params: { system_id }, signal })
          : await api.partnerOverview.get({ params: { system_id, partner_id }, signal });
      return countByPage(checks, partner_id === null ? PAGES : {});
    },
    refetchInterval: REFRESH_INTERVAL_MS,
    staleTime: REFRESH_INTERVAL_MS,
    // A failed read only leaves out the counts. The page itself shows its errors.
    retry: false,
  });
  return data ?? NOTHING;
}

const NOTHING: ReadonlyMap<string, number> = new Map();

function countByPage(
  checks: readonly ShownCheck[],
  renamed: Readonly<Record<string, string>>,
): ReadonlyMap<string, number> {
  const open = checks.filter(({ acknowledged, severity }) => acknowledged === null && severity !== "info");
  const pages = Map.groupBy(open, ({ link }) => {
    // The overview lists every problem, also those that no other page shows.
    const page = link?.page ?? "overview";
    return renamed[page] ?? page;
  });
  return new Map([...pages].map(([page, found]) => [page, found.length]));
}
