import type { ShownImport } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";

/** Milliseconds between two reads of an import that is still changing. */
const POLL_INTERVAL_MS = 2_000;

/** Reads an import. @param id null: there is none yet */
export function useImport(systemId: string, id: string | null) {
  return useQuery({
    queryKey: ["import", systemId, id],
    queryFn: ({ signal }) => api.imports.get({ params: { system_id: systemId, id: id ?? "" }, signal }),
    enabled: systemId !== "" && id !== null,
    refetchInterval: ({ state }) => (isChanging(state.data?.import) ? POLL_INTERVAL_MS : false),
  });
}

function isChanging(imported: ShownImport | undefined): boolean {
  return imported?.status === "running" || imported?.status === "undoing";
}
