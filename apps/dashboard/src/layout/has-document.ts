import { useQuery } from "../api/queries.ts";

/** Tells whether the service has a document at an address. An operator may configure the service without /docs. */
export function useHasDocument(address: string): boolean {
  const { data } = useQuery({
    queryKey: ["documents", address],
    queryFn: async ({ signal }) => (await fetch(address, { method: "HEAD", signal })).ok,
    staleTime: Infinity,
    retry: false,
  });
  return data === true;
}
