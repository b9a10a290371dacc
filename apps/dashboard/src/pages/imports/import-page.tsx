import type { ImportDetail, ImportReportEntry, ShownImport } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { useParams } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { keepPreviousData, useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { visibleControls } from "../../components/code.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Filters } from "../../components/filters.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { actColumns } from "../audit/act-columns.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";
import { useImport } from "./import-data.ts";
import { createdText, ImportStatus } from "./import-status.tsx";

/** The operator's page of one import: who started it, its problems, and a button that undoes it. */
export function ImportPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const { id } = useParams<{ id: string }>();
  const { data, error, refetch } = useImport(access?.systemId ?? "", id);
  if (access === undefined) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  return (
    <div class="stack">
      <PageHeader
        title={data.import.kind === "trips" ? "Import of trip files" : "Import of a feed"}
        actions={access.canChange && <Undo access={access} detail={data} />}
      >
        <span class="mono">{id}</span>
      </PageHeader>
      <Progress imported={data.import} />
      {data.obstacle !== null && data.import.status !== "undone" && (
        <Notice tone="neutral" title="It cannot be undone">
          {data.obstacle}
        </Notice>
      )}
      <ImportFacts detail={data} />
      <Report access={access} detail={data} />
      <section class="stack">
        <h2>What was done</h2>
        <Table
          caption="What was done"
          columns={actColumns(url)}
          rows={data.acts}
          rowKey={(act) => act.id}
          empty={<EmptyState title="No audit entries for this import" />}
        />
      </section>
    </div>
  );
}

function Progress({ imported }: { readonly imported: ShownImport }) {
  const { status, created, removed } = imported;
  if (status === "running")
    return (
      <Notice tone="progress" title="Running, or interrupted">
        {createdText(imported)} so far. Importing the same files again completes an interrupted import.
      </Notice>
    );
  if (status !== "undoing") return null;
  return (
    <Notice tone="progress" title="Being undone">
      <p>
        {removed.toLocaleString("en")} of {createdText(imported)} removed. If that number stands still, the undo was
        interrupted: go on with it.
      </p>
      <progress value={removed} max={Math.max(1, created)} aria-label="Rides removed" />
    </Notice>
  );
}

function ImportFacts({ detail: { import: imported, from, time_zone: zone } }: { readonly detail: ImportDetail }) {
  const { first_at: first, last_at: last } = imported;
  const number = (n: number) => n.toLocaleString("en");
  return (
    <Facts
      facts={[
        ["Status", <ImportStatus status={imported.status} />],
        ["Began", <Time at={imported.at} show="both" />],
        ["Source", imported.source],
        ["From", from.map((file) => <div key={file}>{visibleControls(file)}</div>)],
        ["Created", createdText(imported)],
        [
          imported.kind === "trips" ? "Stations that only it names" : "Of them stations",
          number(imported.stations_created),
        ],
        ["Changed or removed", number(imported.updated)],
        ["Found as they were", number(imported.unchanged)],
        ["Rejected", number(imported.rejected)],
        ...(zone === null ? [] : ([["Time zone", zone]] as const)),
        ...(first === null ? [] : ([["First ride", <Time at={first} show="both" />]] as const)),
        ...(last === null ? [] : ([["Last ride", <Time at={last} show="both" />]] as const)),
        ...(imported.undone_at === null ? [] : ([["Undone", <Time at={imported.undone_at} show="both" />]] as const)),
      ]}
    />
  );
}

/** A button that undoes the import, or continues an interrupted undo. Disabled while something prevents that. */
function Undo({ access, detail }: { readonly access: Access; readonly detail: ImportDetail }) {
  const [isOpen, setOpen] = useState(false);
  const { run, isPending } = useAction();
  const { import: imported, obstacle } = detail;
  if (imported.status === "undone") return null;
  const key = ["import", access.systemId, imported.id];
  const undo = () =>
    run(async () => {
      const params = { system_id: access.systemId, id: imported.id };
      const { is_decided: isDecided } = await api.imports.undo({ params, body: {} });
      if (!isDecided)
        showToast("info", "Counting what it created takes a while. “What was done” will say how it ended.");
      await queries.invalidateQueries({ queryKey: key });
      setOpen(false);
    });
  const stations =
    imported.kind === "trips" ? ` and up to ${imported.stations_created} stations that only they name` : "";
  return (
    <>
      <Button variant="danger" disabled={obstacle !== null} onClick={() => setOpen(true)}>
        {imported.status === "undoing" ? "Go on undoing" : "Undo"}
      </Button>
      <Dialog
        title="Undo this import?"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        actions={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={() => void undo()}>
              Undo the import
            </Button>
          </>
        }
      >
        <p>
          This removes {createdText(imported)}
          {stations}, without events to partners. Nothing is removed if something has changed since.
        </p>
      </Dialog>
    </>
  );
}

const entryColumns: readonly Column<ImportReportEntry>[] = [
  { id: "part", title: "File or feed", cell: ({ part }) => visibleControls(part.split("/").at(-1) ?? part) },
  { id: "record", title: "Line or id", cell: ({ record }) => record },
  { id: "field", title: "Field", cell: ({ field }) => field },
  { id: "value", title: "Value", isSecondary: true, cell: ({ value }) => value !== null && visibleControls(value) },
  { id: "reason", title: "Reason", cell: ({ reason }) => reason.replaceAll("_", " ") },
  { id: "outcome", title: "Then", isSecondary: true, cell: ({ outcome }) => outcome },
];

/** Says how much of the report the service keeps, and where all of it is. */
function ReportKept({ report }: { readonly report: NonNullable<ImportDetail["report"]> }) {
  const { kept, entries, path } = report;
  const [first, all] = [kept, entries].map((n) => n.toLocaleString("en"));
  return (
    <p class="muted">
      {kept < entries ? `The first ${first} of ${all}.` : "All of the report."}{" "}
      {path !== null && (
        <>
          Its file, where the import ran: <code class="mono">{path}</code>
        </>
      )}
    </p>
  );
}

/** What was rejected, repaired or doubted, with the reason of each. Renders nothing if the import has no report. */
function Report({ access, detail }: { readonly access: Access; readonly detail: ImportDetail }) {
  const url = useUrlState();
  const { report } = detail;
  const params = { system_id: access.systemId, id: detail.import.id };
  const query = url.given(["reason", "cursor"]);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["import-report", params, query],
    queryFn: ({ signal }) => api.imports.report({ params, query, signal }),
    placeholderData: keepPreviousData,
    enabled: report !== null,
  });
  if (report === null) return null;
  const reasons = report.reasons.map(({ reason, count }) => ({
    value: reason,
    label: `${reason.replaceAll("_", " ")} (${count.toLocaleString("en")})`,
  }));
  return (
    <section class="stack">
      <div>
        <h2>What was wrong</h2>
        <ReportKept report={report} />
      </div>
      <Filters
        label="Filters"
        filters={[{ name: "reason", label: "Reason", choices: reasons }]}
        values={url.given(["reason"])}
        onChange={url.filter}
        count={data === undefined ? "" : `${data.data.length} of ${report.entries.toLocaleString("en")} shown`}
      />
      <Table
        caption="What was wrong"
        columns={entryColumns}
        rows={data?.data}
        rowKey={({ number }) => String(number)}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="Nothing of this reason is among the first entries" />}
      />
      <Pager summary="" isPending={isFetching} isByTime={false} {...url.paging(data?.next_cursor)} />
    </section>
  );
}
