import type { ShownImport } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Time } from "../../components/time.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { FleetList } from "../operator/fleet-list.tsx";
import { createdText, ImportStatus } from "./import-status.tsx";
import { UploadPanel } from "./upload-panel.tsx";

/** The operator's list of imports. */
export function ImportsPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  const query = url.given(["cursor"]);
  return (
    <FleetList<ShownImport>
      title="Imports"
      empty="Nothing was imported yet."
      scope={[access.systemId, query]}
      read={(signal) => api.imports.list({ params, query, signal })}
      isByTime
      columns={() => [
        {
          id: "at",
          title: "Time",
          cell: ({ id, at }) => (
            <Link href={url.link(`/operator/imports/${encodeURIComponent(id)}`)} title={id}>
              <Time at={at} />
            </Link>
          ),
        },
        { id: "kind", title: "Kind", cell: ({ kind }) => (kind === "trips" ? "trip files" : "feed") },
        { id: "source", title: "Source", cell: ({ source }) => source },
        { id: "status", title: "Status", cell: ({ status }) => <ImportStatus status={status} /> },
        { id: "created", title: "Created", align: "end", cell: createdText },
        { id: "unchanged", title: "Unchanged", align: "end", isSecondary: true, cell: ({ unchanged: n }) => n },
        { id: "rejected", title: "Rejected", align: "end", isSecondary: true, cell: ({ rejected: n }) => n },
      ]}
    >
      <UploadPanel access={access} />
    </FleetList>
  );
}
