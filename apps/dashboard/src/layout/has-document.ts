import { useQuery } from "../api/queries.ts";

/** Tells whether the service has a page: configuration may leave out everything below /docs. */
export function useHasDocument(address: string): boolean {
  const { data } = useQuery({
    queryKey: ["documents", address],
    queryFn: async ({ signal }) => (await fetch(address, { method: "HEAD", signal })).ok,
    staleTime: Infinity,
    retry: false,
  });
  return data === true;
}
